//! Virtual GPUs: machines that run real PTX and real AMDGPU machine code on the CPU, with a sanitizer.
