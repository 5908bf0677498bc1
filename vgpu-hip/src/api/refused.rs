//! What HIP has and this stand-in refuses, so that a program finds these functions and gets a clean answer from each.

use tegula_vgpu_driver::c_refused;

c_refused! {
    "arrays, textures and surfaces are for graphics, and virtual GPUs have no texture units":
        hipArrayCreate hipArray3DCreate hipArrayDestroy hipArrayGetDescriptor hipArray3DGetDescriptor hipArrayGetInfo hipMallocArray
        hipMalloc3DArray hipFreeArray hipMallocMipmappedArray hipFreeMipmappedArray hipGetMipmappedArrayLevel hipMipmappedArrayCreate
        hipMipmappedArrayDestroy hipMipmappedArrayGetLevel hipMemcpyToArray hipMemcpyFromArray hipMemcpy2DToArray hipMemcpy2DToArrayAsync
        hipMemcpy2DFromArray hipMemcpy2DFromArrayAsync hipMemcpy2DArrayToArray hipMemcpyAtoH hipMemcpyHtoA hipMemcpyAtoD hipMemcpyDtoA
        hipMemcpyAtoA hipCreateTextureObject hipDestroyTextureObject hipGetTextureObjectResourceDesc hipGetTextureObjectResourceViewDesc
        hipGetTextureObjectTextureDesc hipTexObjectCreate hipTexObjectDestroy hipTexObjectGetResourceDesc hipTexObjectGetResourceViewDesc
        hipTexObjectGetTextureDesc hipCreateSurfaceObject hipDestroySurfaceObject hipBindTexture hipBindTexture2D hipBindTextureToArray
        hipUnbindTexture hipGetTextureReference hipModuleGetTexRef hipGetChannelDesc hipDeviceGetTexture1DLinearMaxWidth;

    "there is no other interface whose resources, semaphores or memory could be shared":
        hipImportExternalMemory hipExternalMemoryGetMappedBuffer hipExternalMemoryGetMappedMipmappedArray hipDestroyExternalMemory
        hipImportExternalSemaphore hipSignalExternalSemaphoresAsync hipWaitExternalSemaphoresAsync hipDestroyExternalSemaphore
        hipGraphicsMapResources hipGraphicsUnmapResources hipGraphicsResourceGetMappedPointer hipGraphicsSubResourceGetMappedArray
        hipGraphicsUnregisterResource;

    "memory and events of a virtual GPU cannot be shared with other processes":
        hipIpcGetMemHandle hipIpcOpenMemHandle hipIpcCloseMemHandle hipIpcGetEventHandle hipIpcOpenEventHandle
        hipMemPoolExportToShareableHandle hipMemPoolImportFromShareableHandle hipMemPoolExportPointer hipMemPoolImportPointer
        hipMemExportToShareableHandle hipMemImportFromShareableHandle hipMemGetHandleForAddressRange;

    "addresses are not reserved apart from memory; allocate it with hipMalloc or hipMallocAsync":
        hipMemAddressReserve hipMemAddressFree hipMemCreate hipMemRelease hipMemMap hipMemMapArrayAsync hipMemUnmap hipMemSetAccess
        hipMemGetAccess hipMemGetAllocationGranularity hipMemGetAllocationPropertiesFromHandle hipMemRetainAllocationHandle;

    "there is one pool a device, which hipMallocAsync takes from":
        hipDeviceGetDefaultMemPool hipDeviceGetMemPool hipDeviceSetMemPool hipMemPoolCreate hipMemPoolDestroy hipMemPoolTrimTo
        hipMemPoolSetAttribute hipMemPoolGetAttribute hipMemPoolSetAccess hipMemPoolGetAccess hipMallocFromPoolAsync;

    "streams neither wait for values in memory nor write them; record and wait for events":
        hipStreamWaitValue32 hipStreamWaitValue64 hipStreamWriteValue32 hipStreamWriteValue64 hipStreamBatchMemOp;

    "compute units of a virtual GPU are not chosen by a stream":
        hipExtStreamCreateWithCUMask hipExtStreamGetCUMask;

    "copies are of bytes in a row or of rows; copy a box slice by slice":
        hipMemcpy3D hipMemcpy3DAsync hipMemcpy3DPeer hipMemcpy3DPeerAsync hipDrvMemcpy3D hipDrvMemcpy3DAsync hipMalloc3D hipMemset3D
        hipMemset3DAsync hipGraphAddMemcpyNode hipDrvGraphAddMemcpyNode;

    "variables of the host's code are not known here: modules are loaded with hipModuleLoadData, and their variables found with hipModuleGetGlobal":
        hipGetSymbolAddress hipGetSymbolSize hipMemcpyToSymbol hipMemcpyToSymbolAsync hipMemcpyFromSymbol hipMemcpyFromSymbolAsync
        hipGraphAddMemcpyNodeToSymbol hipGraphAddMemcpyNodeFromSymbol hipLaunchKernel hipExtLaunchKernel hipLaunchCooperativeKernel
        hipLaunchCooperativeKernelMultiDevice hipExtLaunchMultiKernelMultiDevice;

    "node parameters are set when a node is made, or in an executable graph":
        hipGraphKernelNodeGetParams hipGraphKernelNodeSetParams hipGraphKernelNodeGetAttribute hipGraphKernelNodeSetAttribute
        hipGraphMemcpyNodeGetParams hipGraphMemcpyNodeSetParams hipGraphMemsetNodeGetParams hipGraphMemsetNodeSetParams
        hipGraphHostNodeGetParams hipGraphHostNodeSetParams hipGraphNodeSetParams hipGraphExecNodeSetParams;
}
