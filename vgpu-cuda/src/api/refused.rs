//! What the driver API has and this stand-in refuses, so that a program finds every function and gets a clean answer from each.

use tegula_vgpu_driver::c_refused;

c_refused! {
    "arrays, textures and surfaces are for graphics, and virtual GPUs have no texture units":
        cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayCreate_v2 cuArrayDestroy cuArrayGetDescriptor_v2 cuArrayGetMemoryRequirements
        cuArrayGetPlane cuArrayGetSparseProperties cuDeviceGetTexture1DLinearMaxWidth cuExternalMemoryGetMappedMipmappedArray
        cuGraphicsResourceGetMappedMipmappedArray cuGraphicsSubResourceGetMappedArray cuMemMapArrayAsync cuMemcpyAtoA_v2 cuMemcpyAtoD_v2
        cuMemcpyAtoHAsync_v2 cuMemcpyAtoH_v2 cuMemcpyDtoA_v2 cuMemcpyHtoAAsync_v2 cuMemcpyHtoA_v2 cuMipmappedArrayCreate
        cuMipmappedArrayDestroy cuMipmappedArrayGetLevel cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties
        cuModuleGetSurfRef cuModuleGetTexRef cuParamSetTexRef cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc
        cuSurfRefGetArray cuSurfRefSetArray cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc
        cuTexObjectGetTextureDesc cuTexRefCreate cuTexRefDestroy cuTexRefGetAddressMode cuTexRefGetAddress_v2 cuTexRefGetArray
        cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags cuTexRefGetFormat cuTexRefGetMaxAnisotropy
        cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray
        cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode
        cuTexRefSetFlags cuTexRefSetFormat cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias
        cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray;

    "there is no other interface whose resources, semaphores or memory could be shared":
        cuDestroyExternalSemaphore cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode
        cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
        cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
        cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams cuGraphicsMapResources
        cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags_v2 cuGraphicsUnmapResources cuGraphicsUnregisterResource
        cuImportExternalSemaphore cuSignalExternalSemaphoresAsync cuWaitExternalSemaphoresAsync;

    "memory and events of a virtual GPU cannot be shared with other processes":
        cuDeviceGetCliqueCount cuDeviceGetCliqueInfo cuDeviceGetFabricClusterUuid cuIpcCloseMemHandle cuIpcGetEventHandle
        cuIpcGetMemHandle cuIpcOpenEventHandle cuIpcOpenMemHandle_v2 cuLogicalEndpointAddDevice cuLogicalEndpointBindAddr
        cuLogicalEndpointBindMem cuLogicalEndpointCreate cuLogicalEndpointDestroy cuLogicalEndpointExport cuLogicalEndpointGetLimits
        cuLogicalEndpointIdRelease cuLogicalEndpointIdReserve cuLogicalEndpointImport cuLogicalEndpointQuery cuLogicalEndpointUnbind
        cuMemExportToShareableHandle cuMemGetHandleForAddressRange cuMemImportFromShareableHandle cuMemPoolExportPointer
        cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolImportPointer cuMulticastAddDevice
        cuMulticastBindAddr cuMulticastBindAddr_v2 cuMulticastBindMem cuMulticastBindMem_v2 cuMulticastCreate cuMulticastGetGranularity
        cuMulticastUnbind;

    "addresses are not reserved apart from memory; allocate it with cuMemAlloc or cuMemAllocAsync":
        cuMemAddressFree cuMemAddressReserve cuMemCreate cuMemGetAccess cuMemGetAllocationGranularity
        cuMemGetAllocationPropertiesFromHandle cuMemMap cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap;

    "multiprocessors of a virtual GPU are not divided among contexts":
        cuCtxFromGreenCtx cuCtxGetDevResource cuCtxGetExecAffinity cuDevResourceGenerateDesc cuDevSmResourceSplit
        cuDevSmResourceSplitByCount cuDeviceGetDevResource cuDeviceGetExecAffinitySupport cuGreenCtxCreate cuGreenCtxDestroy
        cuGreenCtxGetDevResource cuGreenCtxGetId cuGreenCtxRecordEvent cuGreenCtxStreamCreate cuGreenCtxWaitEvent
        cuStreamBeginCaptureToCig cuStreamEndCaptureToCig cuStreamGetDevResource cuStreamGetGreenCtx;

    "streams neither wait for values in memory nor write them; record and wait for events":
        cuCtxWaitEvent cuGraphAddBatchMemOpNode cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams
        cuGraphExecBatchMemOpNodeSetParams cuStreamBatchMemOp cuStreamBatchMemOp_v2 cuStreamWaitValue32 cuStreamWaitValue32_v2
        cuStreamWaitValue64 cuStreamWaitValue64_v2 cuStreamWriteValue32 cuStreamWriteValue32_v2 cuStreamWriteValue64
        cuStreamWriteValue64_v2;

    "node parameters are set when a node is made, or in an executable graph with the cuGraphExec functions of each kind":
        cuGraphChildGraphNodeGetGraph cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeGetEvent
        cuGraphEventWaitNodeSetEvent cuGraphExecChildGraphNodeSetParams cuGraphExecEventRecordNodeSetEvent
        cuGraphExecEventWaitNodeSetEvent cuGraphExecNodeSetParams cuGraphHostNodeGetParams cuGraphHostNodeSetParams
        cuGraphKernelNodeCopyAttributes cuGraphKernelNodeGetAttribute cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2
        cuGraphKernelNodeSetAttribute cuGraphKernelNodeSetParams cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams
        cuGraphMemcpyNodeGetParams cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams cuGraphNodeGetEnabled
        cuGraphNodeGetParams cuGraphNodeSetEnabled cuGraphNodeSetParams cuGraphNodeSetParams_v2;

    "graphs have kernels, copies, fills, host functions, events, children and empty nodes, made one by one":
        cuDeviceGetGraphMemAttribute cuDeviceSetGraphMemAttribute cuGraphAddMemAllocNode cuGraphAddMemFreeNode cuGraphAddNode
        cuGraphAddNode_v2 cuGraphAddNode_v3 cuGraphConditionalHandleCreate cuGraphDebugDotPrint cuGraphExecGetFlags cuGraphExecGetId
        cuGraphExecUpdate cuGraphGetId cuGraphNodeFindInClone cuGraphNodeGetContainingGraph cuGraphNodeGetDependencies_v2
        cuGraphNodeGetDependentNodes_v2 cuGraphNodeGetLocalId cuGraphNodeGetToolsId cuGraphReleaseUserObject cuGraphRemoveDependencies
        cuGraphRemoveDependencies_v2 cuGraphRetainUserObject cuStreamBeginCaptureToGraph cuStreamBeginRecaptureToGraph
        cuStreamUpdateCaptureDependencies_v2 cuUserObjectCreate cuUserObjectRelease cuUserObjectRetain;

    "launches that set their parameters one by one ended with CUDA 4; use cuLaunchKernel":
        cuCtxAttach cuCtxDetach cuFuncSetBlockShape cuFuncSetSharedSize cuLaunch cuLaunchCooperativeKernelMultiDevice cuLaunchGrid
        cuLaunchGridAsync cuParamSetSize cuParamSetf cuParamSeti cuParamSetv cuProfilerInitialize;

    "there are no core dumps, error logs or notifications beside VGPU_REPORT and VGPU_LOG":
        cuCoredumpDeregisterCompleteCallback cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
        cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal
        cuDeviceRegisterAsyncNotification cuDeviceUnregisterAsyncNotification cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory
        cuLogsRegisterCallback cuLogsUnregisterCallback;

    "copies and prefetches are asked for one by one, without attributes":
        cuMemcpyBatchAsync cuMemcpyBatchAsync_v2 cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_v2 cuMemcpyWithAttributesAsync
        cuMemcpy3DWithAttributesAsync cuMemPrefetchBatchAsync cuMemDiscardBatchAsync cuMemDiscardAndPrefetchBatchAsync
        cuMemBatchDecompressAsync;

    "memory stays where it was allocated, and pools are those of devices":
        cuMemRangeGetAttribute cuMemRangeGetAttributes cuMemGetLocationInfo cuMemGetDefaultMemPool cuMemGetMemPool cuMemSetMemPool
        cuLibraryGetManaged;

    "a virtual GPU has no such hardware":
        cuDeviceGetLuid cuDeviceGetHostAtomicCapabilities cuDeviceGetP2PAtomicCapabilities cuFlushGPUDirectRDMAWrites;

    "it is newer than CUDA 13.0, and an earlier function does the same or there is nothing for it to do":
        cuLaunchHostFunc_v2 cuLibraryGetUnifiedFunction cuStreamCopyAttributes cuStreamGetAttribute cuStreamGetCtx_v2
        cuTensorMapEncodeIm2colWide;
}
