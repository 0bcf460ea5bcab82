//! Makes an operation on CPU memory, with a gradient of its own, known to burn.

use std::fmt::Debug;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::NoCheckpointing;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_backend::tensor::FloatTensor;
use burn_flex::{Flex, FlexTensor};
use burn_tensor::{DType, Shape, Tensor, TensorData};

/// Numbers and how they lie: the last axis runs fastest.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'a> {
    pub values: &'a [f32],
    pub shape: &'a [usize],
}

/// An operation with N inputs and one output.
pub trait Kernel<const N: usize>: Copy + Debug + Send + 'static {
    /// The output and its shape.
    fn forward(self, inputs: [Numbers<'_>; N]) -> (Vec<f32>, Vec<usize>);

    /// The gradient of each input that is wanted, from the output's.
    fn backward(self, inputs: [Numbers<'_>; N], gradient: &[f32], wanted: [bool; N]) -> [Option<Vec<f32>>; N];
}

/// An input of a kernel.
pub enum Operand {
    Plain(FlexTensor),
    Tracked(FloatTensor<Autodiff<Flex>>),
}

/// Whether kernels can work on this tensor: it lies in the memory of a CPU.
pub fn runs_on<const D: usize>(x: &Tensor<D>) -> bool {
    let inner = if x.is_autodiff() { x.clone().inner() } else { x.clone() };
    inner.try_into_primitive::<Flex>().is_ok()
}

impl<const D: usize> From<Tensor<D>> for Operand {
    fn from(tensor: Tensor<D>) -> Self {
        const SAME_DEVICE: &str = "all inputs of an operation are on one device";
        if tensor.is_autodiff() {
            Self::Tracked(tensor.try_into_primitive::<Autodiff<Flex>>().expect(SAME_DEVICE))
        } else {
            Self::Plain(tensor.try_into_primitive::<Flex>().expect(SAME_DEVICE))
        }
    }
}

/// Runs a kernel, with a node for its gradient if the inputs have one.
pub fn apply<K: Kernel<N>, const N: usize, const D: usize>(kernel: K, operands: [Operand; N]) -> Tensor<D> {
    let mut guards = Vec::new();
    let inputs = operands.map(|operand| match operand {
        Operand::Plain(tensor) => tensor.to_contiguous(),
        Operand::Tracked(tensor) => {
            let (tensor, guard) = tensor.into_parts();
            guards.push(guard);
            tensor.to_contiguous()
        }
    });
    let (values, shape) = with_blocks(&inputs, |blocks| kernel.forward(blocks));
    let output = tensor_of(values, &shape);
    // Inputs are on one device, so either all of them have a node or none.
    let Ok(guards) = guards.try_into() else { return Tensor::from_primitive::<Flex>(output) };
    let output = match Gradient(kernel).prepare::<NoCheckpointing>(guards).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(inputs, output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

#[derive(Debug)]
struct Gradient<K>(K);

impl<K: Kernel<N>, const N: usize> Backward<Flex, N> for Gradient<K> {
    type State = [FlexTensor; N];

    fn backward(self, ops: Ops<Self::State, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let inputs = ops.state;
        let found = with_blocks(&inputs, |blocks| self.0.backward(blocks, block(&gradient).values, wanted));
        for ((parent, values), input) in ops.parents.into_iter().zip(found).zip(&inputs) {
            if let (Some(node), Some(values)) = (parent, values) {
                gradients.register::<Flex>(node.id, tensor_of(values, block(input).shape));
            }
        }
    }
}

fn with_blocks<R, const N: usize>(tensors: &[FlexTensor; N], work: impl FnOnce([Numbers<'_>; N]) -> R) -> R {
    work(tensors.each_ref().map(block))
}

fn block(tensor: &FlexTensor) -> Numbers<'_> {
    assert_eq!(tensor.dtype(), DType::F32, "networks are in single precision");
    Numbers { values: tensor.storage::<f32>(), shape: tensor.layout().shape() }
}

fn tensor_of(values: Vec<f32>, shape: &[usize]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, Shape::from(shape.to_vec())))
}
