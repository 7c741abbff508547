"""What a graph from elsewhere may contain, checked before anything runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddock.errors import PaddockError

if TYPE_CHECKING:
    import onnx

MAX_BYTES = 64 * 1024 * 1024
"""Of a graph with its weights; a policy of three layers of 512 has two."""

OPERATOR_NAMES = """
    Abs Acos Add And ArgMax ArgMin Asin Atan AveragePool BatchNormalization BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
    Cast CastLike Ceil Clip Concat Constant ConstantOfShape Conv Cos CumSum Div Einsum Elu Equal Erf Exp Expand Flatten Floor
    GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf
    IsNaN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax MatMul Max MaxPool Mean Min Mish Mod Mul Neg Not
    OneHot Or Pad Pow Range Reciprocal ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare
    Relu Reshape Round ScatterElements ScatterND Shape Sigmoid Sign Sin Slice Softmax Softplus Split Sqrt Squeeze Sub Sum Tan
    Tanh Tile TopK Transpose Trilu Unsqueeze Where Xor
"""
OPERATORS = frozenset(OPERATOR_NAMES.split())
"""Arithmetic on tensors. Loops and branches, which may run for ever, and whatever draws random numbers are not among them."""


class RefusedController(PaddockError):
    """An exported controller that is damaged, or is not what its manifest says."""


def check_graph(data: bytes) -> None:
    """Refuse a graph that is too large, reads other files, or contains an operator that is not known to be harmless."""
    if len(data) > MAX_BYTES:
        raise RefusedController(f"the graph has {len(data)} bytes; at most {MAX_BYTES} are taken.")
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_model_from_string(data)
    except (DecodeError, UnicodeDecodeError) as error:
        raise RefusedController(f"the graph is no ONNX model: {error}") from None
    graph = model.graph
    foreign = sorted({f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n in graph.node if not _is_known(n)})
    if foreign or model.functions:
        found = foreign + [f"function {function.name}" for function in model.functions]
        raise RefusedController(f"the graph contains {', '.join(found)}; only plain operators on tensors are run.")
    tensors = [*graph.initializer, *(a.t for n in graph.node for a in n.attribute if a.HasField("t"))]
    apart = [tensor.name for tensor in tensors if tensor.data_location == onnx.TensorProto.EXTERNAL]
    if apart or graph.sparse_initializer:
        raise RefusedController(
            f"the graph refers to {', '.join(apart) or 'sparse tensors'}; all weights must lie in it, and dense."
        )


def _is_known(node: onnx.NodeProto) -> bool:
    """A standard operator whose attributes are numbers, words and single tensors: no graphs within the graph."""
    from onnx import AttributeProto as A

    plain = {A.FLOAT, A.INT, A.STRING, A.TENSOR, A.FLOATS, A.INTS, A.STRINGS}
    return not node.domain and node.op_type in OPERATORS and all(attribute.type in plain for attribute in node.attribute)
