"""Why names of PyTorch are not here, by rule, and what to write instead. Read where such a name is asked for, and by docs/coverage.md."""
from __future__ import annotations

import re

# (names, why, what is nearest); the first match counts. A name matches as a whole, with its namespace: torch.cuda, torch.Tensor.to_sparse
RULES = [(re.compile(pattern), why, instead) for pattern, why, instead in (
    (r".*\.(cuda|xpu|mps|mtia|hip|ipu|xla|hpu|privateuse1|accelerator|is_(cuda|xpu|mps|mtia|ipu|xla|hpu|maia|vulkan|ort)|.*(cudnn|miopen|cuda|vulkan|gpu_dtype|"
     r"ipu|xla).*)", "another vendor's device; there are cpu and webgpu", "torch.device('webgpu')"),
    (r".*\.(.*sparse.*|.*_(csr|csc|bsr|bsc|coo).*|.*(crow|ccol|col|row)_indices.*|(_?coalesce|is_coalesced|_?indices|_?values|indices_copy|values_copy|smm|sspmm|"
     r"sspaddmm|hspmm|hsmm|dsmm|saddmm|spmm|SparseAdam))", "sparse storage", "a dense tensor"),
    (r".*\.(quantize.*|.*quantized.*|dequantize|fake_quantize.*|fused_moving_avg.*|fbgemm.*|q_.*|q(u?int.*|scheme)|.*qparams.*|is_quantized|int_repr|.*_qat.*)",
     "quantized engines", "torch.ao.quantization"),
    (r".*\.(mkldnn.*|to_mkldnn|is_mkldnn|.*openmp.*|has_(mkl|lapack|spectral|openmp))", "libraries of another processor", ""),
    (r".*\.(.*distributed.*|share_memory.*|is_shared|fork|wait|multiprocessing|DataParallel|.*DistributedSampler|RRefType|rpc|DistributedDataParallel)",
     "processes: a tab has one", ""),
    (r".*\.(names|has_names|align_(to|as|tensors)|refine_names|rename_?|.*[Nn]amed.*dim.*)", "named tensors", ""),
    (r".*\.(jit|Script.*|script.*|trace.*|.*Type|Graph.*|Block|Node|Value|Use|Code|CompilationUnit|.*[Mm]odule(Serializer|TypeBuilder)|Argument.*|AliasDb|"
     r"Function(Schema)?|IODescriptor|Concrete.*|parse_(ir|schema|type_comment)|import_ir.*|merge_type.*|ErrorReport|FileCheck|LiteScript.*|JIT.*|StaticModule|"
     r"ExecutionPlan|CallStack|Capsule|Gradient|TracingState|ThroughputBenchmark|Benchmark.*|DeepCopyMemoTable|.*SerializationContext|PyTorchFile.*|"
     r"Lockin[g].*|NoopLogger|LockingLogger|FatalError|OperatorInfo|Tag|AggregationType|AVG|SUM|Dispatch.*|Exclude.*|Sym(Bool|Int|Float)|sym_.*|"
     r"unify_type_list|vitals_enabled|set_vital|read_vitals|get_file_path|prepare_multiprocessing_environment|DisableTorchFunction.*)",
     "TorchScript and PyTorch's own internals", "torch.compile"),
    (r".*\.(bits.*|bit|u?int[1-7]|float8.*|float4.*|complex32|chalf|bfloat16|uint16|uint64|complex128|cdouble)",
     "a dtype that WebGPU does not store", "float16, float32"),
    (r".*\.(.*(Storage|TypedStorage)|storage.*|untyped_storage|is_storage|set_|set_storage.*|from_file|.*(Byte|Char|Short|Int|Long|Float|Double|Half|Bool|BFloat16)Tensor)",
     "storages and tensor types of old: memory is the device's", "torch.tensor(..., dtype=...)"),
    (r".*\.(to_dlpack|from_dlpack|utils\.dlpack)", "memory of another library", "torch.from_numpy"),
    (r".*\.(.*autocast.*(cpu|gpu|cache|nesting|dtype).*|Stream.*|Event|stream|init_num_threads|.*num_(interop_)?threads|.*_module)",
     "threads and streams of other devices", ""),
)]


def reason(owner, name):
    """(why a name is not supported, what to write instead); empty where no rule is about it."""
    full = f"{owner}.{name}"
    return next(((why, instead) for pattern, why, instead in RULES if pattern.fullmatch(full)), ("", ""))
