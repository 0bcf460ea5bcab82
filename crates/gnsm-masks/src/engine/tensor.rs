//! Tensors that know what they were made of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Operation;
use super::kernel::{Numbers, Shape};

/// Where networks run.
#[derive(Debug, Clone)]
pub enum Device {
    /// The processor, by the kernels of this crate.
    Cpu,
    /// A device of burn's.
    #[cfg(feature = "burn")]
    Burn(burn_tensor::Device),
}

impl Device {
    /// A GPU if one was built in, otherwise the CPU. `GNSM_DEVICE=cpu` asks for the CPU.
    pub fn chosen() -> Self {
        #[cfg(feature = "burn")]
        if std::env::var("GNSM_DEVICE").as_deref() != Ok("cpu") {
            return Self::Burn(burn_tensor::Device::default());
        }
        Self::Cpu
    }

    /// For people.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu => "the CPU".into(),
            #[cfg(feature = "burn")]
            Self::Burn(device) => super::burn::name(device),
        }
    }
}

/// Numbers on a device.
#[derive(Debug, Clone)]
pub enum Tensor {
    Cpu(Arc<Node>),
    #[cfg(feature = "burn")]
    Burn(burn_tensor::Tensor<4>),
}

/// Numbers in memory, and how they were made.
#[derive(Debug)]
pub struct Node {
    values: Vec<f32>,
    shape: Shape,
    /// Whether it is learned, or something that is learned is in it.
    learned: bool,
    /// How it was made, where something learned is in it.
    made: Option<(Operation, Vec<Tensor>)>,
    /// No tensor that it was made of is as deep.
    depth: usize,
}

/// The gradients of what is learned.
pub enum Gradients {
    Cpu(HashMap<*const Node, Vec<f32>>),
    #[cfg(feature = "burn")]
    Burn(burn_tensor::Gradients),
}

impl Tensor {
    /// Puts numbers on a device.
    pub fn new(values: Vec<f32>, shape: Shape, device: &Device) -> Self {
        Self::put(values, shape, false, device)
    }

    /// Puts numbers on a device that are learned.
    pub fn learned(values: Vec<f32>, shape: Shape, device: &Device) -> Self {
        Self::put(values, shape, true, device)
    }

    fn put(values: Vec<f32>, shape: Shape, learned: bool, device: &Device) -> Self {
        match device {
            Device::Cpu => Self::node(values, shape, learned, None, 0),
            #[cfg(feature = "burn")]
            Device::Burn(device) => Self::Burn(super::burn::put(values, shape, learned, device)),
        }
    }

    fn node(values: Vec<f32>, shape: Shape, learned: bool, made: Option<(Operation, Vec<Self>)>, depth: usize) -> Self {
        debug_assert_eq!(values.len(), shape.iter().product::<usize>(), "numbers fill their shape");
        Self::Cpu(Arc::new(Node { values, shape, learned, made, depth }))
    }

    /// The lengths of its axes.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Cpu(node) => node.shape,
            #[cfg(feature = "burn")]
            Self::Burn(tensor) => tensor.dims(),
        }
    }

    /// Its numbers.
    pub fn values(&self) -> Vec<f32> {
        match self {
            Self::Cpu(node) => node.values.clone(),
            #[cfg(feature = "burn")]
            Self::Burn(tensor) => super::burn::values(tensor.clone()),
        }
    }

    /// Where it is.
    pub fn device(&self) -> Device {
        match self {
            Self::Cpu(_) => Device::Cpu,
            #[cfg(feature = "burn")]
            Self::Burn(tensor) => Device::Burn(tensor.device()),
        }
    }

    /// The result of an operation on tensors of one device.
    pub fn of<const N: usize>(operation: Operation, inputs: [&Self; N]) -> Self {
        #[cfg(feature = "burn")]
        if let Some(result) = super::burn::apply(operation, &inputs) {
            return result;
        }
        let nodes = inputs.map(Self::on_cpu);
        let (values, shape) = operation.forward(&nodes.map(Node::numbers));
        let learned = nodes.iter().any(|node| node.learned);
        let made = learned.then(|| (operation, inputs.map(Clone::clone).to_vec()));
        let depth = 1 + nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        Self::node(values, shape, learned, made, depth)
    }

    /// From the gradient of some sum by these numbers to that by everything learned in them.
    pub fn backward(self, gradient: Vec<f32>) -> Gradients {
        let root = match self {
            Self::Cpu(root) => root,
            #[cfg(feature = "burn")]
            Self::Burn(tensor) => return Gradients::Burn(super::burn::backward(tensor, gradient)),
        };
        let mut gradients = HashMap::from([(Arc::as_ptr(&root), gradient)]);
        for node in in_order(&root) {
            let Some((operation, inputs)) = &node.made else { continue };
            let Some(gradient) = gradients.remove(&std::ptr::from_ref(node)) else { continue };
            let nodes: Vec<&Node> = inputs.iter().map(Self::on_cpu).collect();
            let numbers: Vec<Numbers<'_>> = nodes.iter().map(|node| node.numbers()).collect();
            let wanted: Vec<bool> = nodes.iter().map(|node| node.learned).collect();
            for (node, own) in nodes.into_iter().zip(operation.backward(&numbers, &gradient, &wanted)) {
                let Some(own) = own else { continue };
                match gradients.entry(node) {
                    std::collections::hash_map::Entry::Vacant(entry) => _ = entry.insert(own),
                    std::collections::hash_map::Entry::Occupied(mut entry) => {
                        gnsm::internals::math::add(entry.get_mut(), &own);
                    }
                }
            }
        }
        Gradients::Cpu(gradients)
    }

    fn on_cpu(&self) -> &Node {
        match self {
            Self::Cpu(node) => node,
            #[cfg(feature = "burn")]
            Self::Burn(_) => panic!("all inputs of an operation are on one device"),
        }
    }
}

impl Node {
    fn numbers(&self) -> Numbers<'_> {
        Numbers { values: &self.values, shape: self.shape }
    }
}

/// All that is learned, or has something learned in it, each before what it was made of. The order is that of how a
/// network is written down, so sums of gradients always have the same one.
fn in_order(root: &Node) -> Vec<&Node> {
    let (mut found, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![root]);
    while let Some(node) = open.pop() {
        if !node.learned || !seen.insert(std::ptr::from_ref(node)) {
            continue;
        }
        found.push(node);
        if let Some((_, inputs)) = &node.made {
            open.extend(inputs.iter().map(Tensor::on_cpu));
        }
    }
    found.sort_by_key(|node| std::cmp::Reverse(node.depth));
    found
}

impl Gradients {
    /// That of a tensor that is learned; none if the result does not depend on it.
    pub fn of(&mut self, tensor: &Tensor) -> Option<Vec<f32>> {
        match (self, tensor) {
            (Self::Cpu(gradients), Tensor::Cpu(node)) => gradients.remove(&Arc::as_ptr(node)),
            #[cfg(feature = "burn")]
            (Self::Burn(gradients), Tensor::Burn(tensor)) => tensor.grad(gradients).map(super::burn::values),
            #[cfg(feature = "burn")]
            _ => None,
        }
    }
}
