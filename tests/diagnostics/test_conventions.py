"""The rows of docs/conventions.md: what other packages compute, and what it is of ours.

Rows of numpy, scipy, torch, scikit-learn and POT run always. All others need the extra `peers`, are slow, and are
skipped where their package is not installed. Rows of "formula" are of programs that no package index has, computed from
their published formulas.
"""

import contextlib
import importlib
import io
import sys
import types
from importlib.metadata import distribution
from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist, squareform
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.bn_decomposed.theory.kernel import arccos_kernel
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.measure import measure, names
from repdyn.diagnostics.theory.collapse import classifier_collapse, collapse
from repdyn.diagnostics.theory.similarity import MEASURES, ON_REQUEST, shape_of, similarities

POINTS, K = 24, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(POINTS, 5)).round(2)  # fewer units than points, and more; means that are not 0, a part in common
Y = (np.hstack([2 * X[:, :2], RNG.normal(size=(POINTS, 38)) / 2]) + 1).round(2)
BOTH = torch.from_numpy(X), torch.from_numpy(Y)
PAIRS = list(zip(*np.triu_indices(POINTS, 1), strict=True))
LABELS = np.arange(POINTS) % K
UNEQUAL = np.minimum(np.arange(POINTS) % 7, K - 1)  # 4, 4 and 16 points
W = RNG.normal(size=(K, 5))
CENTERED = [(A - A.mean(axis=0)) / np.linalg.norm(A - A.mean(axis=0)) for A in (X, Y)]
ALL = (*MEASURES, *ON_REQUEST)
INSTALLED = ("numpy", "scipy", "torch", "sklearn", "ot", "formula")
DISTRIBUTIONS = {"anatome": "ultimate-anatome", "similarity": "similarity-repository"}


class Row(NamedTuple):
    module: str
    name: str
    both: object  # function of the module: what it has, what we have
    rtol: float


ROWS = []


def row(module, rtol=1e-9):
    """A row of the table; the function gets the module and returns its number and ours."""

    def add(function):
        ROWS.append(Row(module, function.__name__, function, rtol))
        return function

    return add


def marked(entry):
    marks = [] if entry.module in INSTALLED else [pytest.mark.slow]
    return pytest.param(entry, id=f"{entry.module}-{entry.name}", marks=marks)


def without_its_imports(name, *inner):
    """A package of which single files are imported, since the rest of it needs what nobody has."""
    try:
        top = distribution(DISTRIBUTIONS.get(name, name)).locate_file(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    for part in ("", *inner):
        module = sys.modules[".".join(filter(None, (name, *part.split("."))))] = types.ModuleType(name)
        module.__path__ = [str(top.joinpath(*part.split(".")) if part else top)]


def peer(module):
    """The module, or a skip."""
    if module == "formula":
        return None
    if module == "thingsvision":
        without_its_imports(module, "core.cka")
    elif module == "anatome":
        sys.modules["uutils"] = utils = types.ModuleType("uutils")
        sys.modules["uutils.torch_uu"] = utils.torch_uu = types.ModuleType("uutils.torch_uu")
        without_its_imports(module)
        return importlib.import_module("anatome.similarity")
    elif module == "similarity":
        without_its_imports(module, "backend", "backend.yuanli2333", "backend.nn_similarity_index")
    elif module == "neural_tangents":
        for name in ("jax.experimental.jax2tf", "neural_tangents.experimental"):  # of these it would need tensorflow
            sys.modules.setdefault(name, types.ModuleType(name))
    elif module == "torchvision":
        for name in ("nms", "qnms"):  # its operators may be built for another device than torch
            with contextlib.suppress(RuntimeError):
                torch.library.define(f"torchvision::{name}", "(Tensor a, Tensor b, float c) -> Tensor")
    return sys.modules[module] if module in sys.modules else pytest.importorskip(module, exc_type=ImportError)


def ours_of(name, first, second):
    return similarities(shape_of(first), shape_of(second))[name]


def ours(name, minibatch=POINTS, first=X, second=Y):
    """A similarity of the two representations."""
    places = np.arange(POINTS) // minibatch
    return similarities(shape_of(first, ALL, places), shape_of(second, ALL, places), ALL)[name]


def of_layer(name, A=X, **options):
    """A diagnostic of the points themselves."""
    options = {"labels": LABELS} | options
    return measure(nn.Linear(A.shape[1], K).double(), A, ["input"], **options)[name].sel(layer="input").values


def of_classes(name, labels=LABELS):
    return collapse(X, labels)[name]


# shape distances


@row("scipy")
def disparity(_):
    from scipy.spatial import procrustes

    padded = np.pad(X, ((0, 0), (0, Y.shape[1] - X.shape[1])))
    return procrustes(padded, Y)[2], np.sin(ours("angular")) ** 2


@row("scipy")
def disparity_and_procrustes(_):
    from scipy.spatial import procrustes

    padded = np.pad(X, ((0, 0), (0, Y.shape[1] - X.shape[1])))
    return procrustes(padded, Y)[2], 1 - (1 - ours("procrustes") ** 2 / 2) ** 2


@row("scipy")
def scale_of_orthogonal_procrustes(_):
    from scipy.linalg import orthogonal_procrustes

    padded = np.pad(CENTERED[0], ((0, 0), (0, Y.shape[1] - X.shape[1])))
    return orthogonal_procrustes(padded, CENTERED[1])[1], np.cos(ours("angular"))


@row("procrustes")
def orthogonal_error(procrustes):
    return procrustes.orthogonal(X, Y, pad=True, translate=True, scale=True).error, ours("procrustes") ** 2


@row("procrustes")
def orthogonal_error_without_scale(procrustes):
    lengths = [np.linalg.norm(A - A.mean(axis=0)) for A in (X, Y)]
    wanted = sum(np.square(lengths)) - 2 * np.prod(lengths) * np.cos(ours("angular"))
    return procrustes.orthogonal(X, Y, pad=True, translate=True, scale=False).error, wanted


@row("anatome")
def opd(anatome):
    return anatome.orthogonal_procrustes_distance(*BOTH), ours("procrustes") ** 2 / 2


@row("ot", rtol=1e-6)
def bures_distance_of_gram_matrices(ot):
    """In coordinates without the mean, in which a Gram matrix of more units than points has full rank."""
    basis = np.linalg.qr(np.hstack([np.ones((POINTS, 1)), np.eye(POINTS)[:, 1:]]))[0][:, 1:]
    other = np.tanh(Y @ RNG.normal(size=(40, 40)))
    shapes = [(A - A.mean(axis=0)) / np.linalg.norm(A - A.mean(axis=0)) for A in (Y, other)]
    K, L = (basis.T @ A @ A.T @ basis for A in shapes)
    return ot.gaussian.bures_distance(K, L), ours("procrustes", first=Y, second=other)


@row("rsatoolbox", rtol=1e-6)
def bures(rsatoolbox):
    return compared(rsatoolbox, "bures"), np.cos(ours("angular"))


@row("rsatoolbox", rtol=1e-6)
def bures_metric(rsatoolbox):
    A, B = (A * A.shape[1] ** 0.5 for A in CENTERED)  # it divides by the number of units
    return compared(rsatoolbox, "bures_metric", A, B), ours("procrustes") ** 2


@row("formula")
def netrep_linear_metric_of_alpha_1(_):
    """Williams et al. (2021), eq. (9): the angle after the best rotation."""
    return np.arccos(np.linalg.svd(CENTERED[0].T @ CENTERED[1], compute_uv=False).sum()), ours("angular")


@row("formula")
def netrep_linear_cka(_):
    """Williams et al. (2021): the angle between the centered Gram matrices."""
    G, H = (A @ A.T for A in CENTERED)
    return np.arccos(np.sum(G * H) / np.linalg.norm(G) / np.linalg.norm(H)), np.arccos(ours("cka"))


@row("formula")
def sim_metric_procrustes(_):
    """Ding, Denain and Steinhardt (2021), Section 2: squared, of representations of norm one."""
    nuclear = np.linalg.svd(CENTERED[0].T @ CENTERED[1], compute_uv=False).sum()
    return np.sum(CENTERED[0] ** 2) + np.sum(CENTERED[1] ** 2) - 2 * nuclear, ours("procrustes") ** 2


@row("formula")
def sim_metric_cka(_):
    """Ding, Denain and Steinhardt (2021), Section 2: a distance."""
    A, B = CENTERED
    return 1 - np.sum((A.T @ B) ** 2) / np.linalg.norm(A.T @ A) / np.linalg.norm(B.T @ B), 1 - ours("cka")


# CKA


@row("ckatorch")
def cka_base(_):
    return importlib.import_module("ckatorch.core").cka_base(*BOTH), ours("cka")


@row("ckatorch")
def cka_base_unbiased(_):
    return importlib.import_module("ckatorch.core").cka_base(*BOTH, unbiased=True), ours("cka_debiased")


@row("ckatorch")
def cka_batch(_):
    minibatches = [torch.stack(part.split(8)) for part in BOTH]
    return importlib.import_module("ckatorch.core").cka_batch(*minibatches), ours("cka_minibatch", 8)


@row("ckatorch")
def cka_base_rbf(_):
    theirs = importlib.import_module("ckatorch.core").cka_base(*BOTH, kernel="rbf")
    return theirs, cka_of_kernels(lambda squared: np.sort(squared.ravel())[(squared.size - 1) // 2])


@row("thingsvision")
def cka_numpy(_):
    return of_thingsvision(kernel="linear"), ours("cka")


@row("thingsvision")
def cka_numpy_unbiased(_):
    return of_thingsvision(kernel="linear", unbiased=True), ours("cka_debiased")


@row("thingsvision")
def cka_numpy_rbf(_):
    return of_thingsvision(kernel="rbf", sigma=None), ours("cka_rbf")


@row("thingsvision")
def cka_numpy_rbf_of_a_width(_):
    """Its default width is 1 in the units of the layer, whatever its distances are."""
    return of_thingsvision(kernel="rbf"), cka_of_kernels(lambda squared: 1)


@row("torch_cka")
def one_batch(torch_cka):
    return of_torch_cka(torch_cka, POINTS), ours("cka_debiased")


@row("torch_cka")
def mean_hsic_of_minibatches_then_the_ratio(torch_cka):
    return of_torch_cka(torch_cka, 10), ours("cka_minibatch", 10)  # 10, 10 and 4 points count alike


@row("cka")
def cka_from_features(cka):
    return cka.cka_from_features(*BOTH), ours("cka_debiased")


@row("cka")
def cka_from_features_cut_off(cka):
    theirs = cka.cka_from_features(BOTH[0], BOTH[1].flip(0))
    below = ours("cka_debiased", second=Y[::-1])
    assert below < -0.01
    return theirs, max(0, below)


@row("cka", rtol=1e-6)
def compute_cka(cka):
    first, second, points = networks()
    loader = DataLoader(points, batch_size=10)
    (found,) = cka.compute_cka(first, second, loader, layers=["part"], device="cpu", progress=False)
    return found, ours("cka_minibatch", 10)


@row("anatome")
def linear_cka_distance(anatome):
    return anatome.linear_cka_distance(*BOTH, reduce_bias=False), 1 - ours("cka")


@row("similarity")
def linear_cka_of_yuanli2333(_):
    return importlib.import_module("similarity.backend.yuanli2333.CKA").linear_CKA(X, Y), ours("cka")


@row("similarity")
def kernel_cka_of_yuanli2333(_):
    theirs = importlib.import_module("similarity.backend.yuanli2333.CKA").kernel_CKA(X, Y)
    return theirs, ours("cka_rbf")  # the matrix holds each pair twice, which leaves the median as it is


@row("anatome")
def linear_cka_distance_with_reduced_bias(anatome):
    """Not debiased CKA: its norms of one representation hold sums of both, and no roots are taken."""
    theirs = float(anatome.linear_cka_distance(*BOTH, reduce_bias=True))
    return abs(theirs - (1 - ours("cka_debiased"))) > 0.1, True


@row("formula")
def mean_of_ratios(_):
    """Debiased CKA of each minibatch, averaged, is another number than the ratio of averages."""
    ratios = [ours_of("cka_debiased", X[part], Y[part]) for part in np.arange(POINTS).reshape(3, 8)]
    return abs(np.mean(ratios) - ours("cka_minibatch", 8)) > 1e-3, True


@row("rsatoolbox")
def cosine_cov(rsatoolbox):
    return compared(rsatoolbox, "cosine_cov"), ours("cka")


@row("sklearn")
def rbf_kernel(_):
    from sklearn.metrics.pairwise import rbf_kernel

    kernels = [rbf_kernel(A, gamma=1 / (2 * np.median(pdist(A, "sqeuclidean")))) for A in (X, Y)]
    return cka_of(*kernels), ours("cka_rbf")


@row("torch")
def median(_):
    """torch.median is the lower of both values in the middle, ours is their mean."""
    lower = [float(torch.median(torch.from_numpy(pdist(A, "sqeuclidean")))) for A in (X, Y)]
    both = [float(torch.quantile(torch.from_numpy(pdist(A, "sqeuclidean")), 0.5)) for A in (X, Y)]
    assert lower != both
    return cka_of(*(np.exp(-squares(A) / (2 * width)) for A, width in zip((X, Y), both, strict=True))), ours("cka_rbf")


# distances, angles, ranks


@row("scipy")
def spearmanr_of_pdist(_):
    from scipy.stats import spearmanr

    return spearmanr(pdist(X), pdist(Y)).statistic, ours("rsa")


@row("rsatoolbox")
def spearman(rsatoolbox):
    return compared(rsatoolbox, "spearman"), ours("rsa")


@row("rsatoolbox")
def euclidean(rsatoolbox):
    return rdm(rsatoolbox, X).get_vectors()[0], all_pairs("representation_distance") / X.shape[1]


@row("rsatoolbox")
def euclidean_of_silent_units(rsatoolbox):
    """Divided by all units, so that as many silent ones halve it."""
    silent = np.hstack([X, np.zeros_like(X)])
    return rdm(rsatoolbox, silent).get_vectors()[0], rdm(rsatoolbox, X).get_vectors()[0] / 2


@row("rsatoolbox")
def correlation(rsatoolbox):
    """1 less the correlation of two patterns over units: the angle after each point's mean over units is out."""
    without = X - X.mean(axis=1, keepdims=True)
    angles = of_layer("pair_angle", without, pairs=PAIRS, measures=["pairs"])
    return rdm(rsatoolbox, X, "correlation").get_vectors()[0], 1 - np.cos(angles)


@row("scipy")
def pdist_cosine(_):
    return pdist(X, "cosine"), 1 - np.cos(all_pairs("pair_angle"))


@row("torch")
def cdist(_):
    first, second = np.triu_indices(POINTS, 1)
    return torch.cdist(BOTH[0], BOTH[0])[first, second] ** 2, all_pairs("representation_distance")


@row("scipy")
def entropy(_):
    from scipy.stats import entropy

    return np.exp(entropy(np.linalg.svd(X, compute_uv=False))), of_layer("effective_rank")


@row("sklearn")
def singular_values_of_pca(_):
    from sklearn.decomposition import PCA

    s = PCA().fit(X).singular_values_
    return np.exp(-np.sum(s / s.sum() * np.log(s / s.sum()))), of_layer("centered_effective_rank")


@row("numpy")
def matrix_rank(np):
    """numpy counts above max(n, d) eps of the largest, we above 1e-6."""
    A = X @ np.diag([1, 1, 1, 1e-4, 1e-9])
    assert np.linalg.matrix_rank(A) == 5
    return np.linalg.matrix_rank(A, rtol=1e-6), of_layer("numerical_rank", A)


@row("torch")
def norms_of_matrices(_):
    norm = torch.linalg.matrix_norm
    of = {p: float(norm(BOTH[0], p)) for p in ("fro", "nuc", 2)}
    theirs = of["fro"] ** 2 / of[2] ** 2, of["nuc"] ** 2 / of["fro"] ** 2
    return theirs, (of_layer("stable_rank"), of_layer("nuclear_rank"))


# neural collapse


@row("sklearn")
def covariance_of_discriminant_analysis(_):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    found = LinearDiscriminantAnalysis(solver="eigen").fit(X, UNEQUAL)
    return np.trace(found.covariance_), of_classes("within", UNEQUAL)


@row("numpy")
def cov(np):
    """Of equal classes; np.cov divides by one point less, and the center is the mean of all points."""
    total = np.trace(np.cov(X.T)) * (POINTS - 1) / POINTS
    return total, of_classes("within") + of_classes("between")


@row("sklearn")
def nearest_centroid(_):
    from sklearn.neighbors import NearestCentroid

    return NearestCentroid().fit(X, UNEQUAL).score(X, UNEQUAL), of_classes("nearest_mean_accuracy", UNEQUAL)


@row("formula")
def sw_invsb_of_the_notebook(_):
    """Tr(Sigma_W Sigma_B^+), the inverse on the K - 1 directions of the means, not divided by K."""
    within, between, _ = scatter()
    return np.trace(within @ np.linalg.pinv(between, rcond=1e-9)), K * of_classes("nc1")


@row("formula")
def norm_variation_of_the_notebook(_):
    """The deviation of the lengths divides by one class less: 5 % at ten classes, 22 % at three."""
    _, _, centered = scatter()
    lengths = np.linalg.norm(centered, axis=1)
    return np.std(lengths, ddof=1) / np.mean(lengths), of_classes("equinorm") * np.sqrt(K / (K - 1))


@row("formula")
def coherence_of_the_notebook(_):
    """Mean distance of the cosines from -1 / (K - 1), which it calls equiangularity, is our maximal angle."""
    _, _, centered = scatter()
    unit = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    off = (unit @ unit.T + 1 / (K - 1))[~np.eye(K, dtype=bool)]
    return np.mean(np.abs(off)), of_classes("maximal_angle")


@row("formula")
def self_duality_of_the_notebook(_):
    _, _, M = scatter()
    theirs = np.linalg.norm(W / np.linalg.norm(W) - M / np.linalg.norm(M)) ** 2
    return theirs, classifier_collapse(X, LABELS, W, LABELS)["nc3"]


# losses and normalization


@row("torch")
def mse_loss(_):
    targets = torch.from_numpy(W.T @ W)[:, :K].repeat(5, 1)[:POINTS]
    network = nn.Linear(5, K).double()
    found = measure(network, BOTH[0], targets=targets, measures=["loss"])["loss"]
    return nn.functional.mse_loss(network(BOTH[0]), targets).item() / 2, found


@row("torch", rtol=1e-6)
def batch_norm_keeps_the_unbiased_variance(_):
    layer = nn.BatchNorm1d(1, momentum=0.1)
    layer(torch.tensor([[0.0], [2.0]]))
    return layer.running_var, 0.9 * 1 + 0.1 * 2


@row("torch")
def batch_norm_divides_by_the_biased_variance(_):
    found = nn.BatchNorm1d(1, eps=0.5).double()(torch.tensor([[0.0], [2.0]], dtype=torch.float64))
    return found.detach()[1], 1 / np.sqrt(1 + 0.5)


@row("flax", rtol=1e-6)
def flax_batch_norm(_):
    linen, jnp = importlib.import_module("flax.linen"), importlib.import_module("jax.numpy")
    layer = linen.BatchNorm(use_running_average=False, momentum=0.9)
    x = jnp.array([[0.0], [2.0]])
    state = layer.init(importlib.import_module("jax").random.key(0), x)
    _, changed = layer.apply(state, x, mutable=["batch_stats"])
    return changed["batch_stats"]["var"], 0.9 * 1 + 0.1 * 1


@row("keras", rtol=1e-6)
def keras_batch_norm(keras):
    layer = keras.layers.BatchNormalization(momentum=0.9)
    layer(np.array([[0.0], [2.0]], "float32"), training=True)
    return keras.ops.convert_to_numpy(layer.moving_variance), 0.9 * 1 + 0.1 * 1


@row("flax")
def epsilons_of_flax(_):
    linen = importlib.import_module("flax.linen")
    theirs = [linen.BatchNorm().epsilon, linen.LayerNorm().epsilon]
    assert [nn.BatchNorm1d(1).eps, nn.LayerNorm(1).eps] == [1e-5, 1e-5]
    return theirs, [1e-5, 1e-6]


@row("keras")
def epsilons_and_momentum_of_keras(keras):
    layer = keras.layers.BatchNormalization()
    assert nn.BatchNorm1d(1).momentum == 0.1  # 1 less the others' 0.9
    return [layer.epsilon, keras.layers.LayerNormalization().epsilon, layer.momentum], [1e-3, 1e-3, 0.99]


@row("keras", rtol=1e-5)
def keras_kernels_are_transposed(keras):
    layer = keras.layers.Dense(K)
    layer.build((None, 5))
    kernel, bias = layer.get_weights()
    same = nn.Linear(5, K)
    with torch.no_grad():
        same.weight.copy_(torch.from_numpy(kernel.T))
        same.bias.copy_(torch.from_numpy(bias))
    inputs = X.astype("float32")
    return keras.ops.convert_to_numpy(layer(inputs)), same(torch.from_numpy(inputs)).detach()


@row("flax", rtol=0.05)
def variances_of_first_weights(_):
    """Times the number of inputs: 1/3 in torch, 1 in flax; 2 in / (in + out) in keras."""
    jax, linen = importlib.import_module("jax"), importlib.import_module("flax.linen")
    state = linen.Dense(400).init(jax.random.key(0), np.zeros((1, 400), "float32"))
    torch.manual_seed(0)
    weight = nn.Linear(400, 400).weight.detach()
    return (np.var(state["params"]["kernel"]) * 400, float(weight.var()) * 400), (1, 1 / 3)


@row("flax", rtol=1e-5)
def gelu_of_jax(_):
    x = torch.linspace(-1, 3, 13)  # further to the left single precision loses digits
    assert np.abs(nn.functional.gelu(x) - nn.functional.gelu(x, approximate="tanh")).max() > 1e-4
    return importlib.import_module("jax").nn.gelu(x.numpy()), nn.functional.gelu(x, approximate="tanh")


@row("neural_tangents", rtol=1e-5)
def nngp_of_one_relu_layer(_):
    """Inner products over the number of inputs, and a ReLU that halves: weights of variance 2 give the kernel (111)."""
    stax = importlib.import_module("neural_tangents").stax
    _, _, kernel = stax.serial(stax.Dense(1, W_std=2**0.5), stax.Relu())
    lengths = np.linalg.norm(X, axis=1)
    products = np.outer(lengths, lengths)
    return kernel(X, X, "nngp"), products / X.shape[1] * arccos_kernel(X @ X.T / products)


# names and layers


class Twice(nn.Module):
    """One module that is called twice, functions, and a sum."""

    def __init__(self):
        super().__init__()
        self.first, self.relu = nn.Linear(5, 5).double(), nn.ReLU()

    def forward(self, x):
        y = self.relu(self.first(x))
        return nn.functional.relu(self.relu(y - 1) / 2 % 3) + y


@row("torchvision")
def names_of_nodes(torchvision):
    extraction = importlib.import_module("torchvision.models.feature_extraction")
    nodes = extraction.get_graph_node_names(Twice())[1]
    assert nodes[0] == "x"
    return nodes[1:], [name.replace("relu#2", "relu_1") for name in names(Twice(), BOTH[0])[1:-1]]


@row("torchvision")
def both_names_of_a_second_call(_):
    extraction = importlib.import_module("torchvision.models.feature_extraction")
    torch.manual_seed(0)
    network = Twice()
    layer = extraction.create_feature_extractor(network.eval(), ["relu_1"])(BOTH[0])["relu_1"].detach().numpy()
    found = measure(network, X, ["relu_1", "relu#2"], measures=["ranks"])["stable_rank"]
    wanted = np.linalg.norm(layer) ** 2 / np.linalg.norm(layer, 2) ** 2
    return found.sel(layer="relu#2"), wanted


@row("torchvision")
def layers_that_are_overwritten_in_place(_):
    """The extractor hands out the tensor that the next layer has changed; ours is as the layer returned it."""
    extraction = importlib.import_module("torchvision.models.feature_extraction")
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(5, 5).double(), nn.ReLU(inplace=True))
    theirs = extraction.create_feature_extractor(network.eval(), ["0", "1"])(BOTH[0])["0"].detach().numpy()
    found = measure(network, X, ["0", "1"], measures=["ranks"])["effective_rank"]
    s = np.linalg.svd(theirs, compute_uv=False)
    assert abs(float(found.sel(layer="0")) - float(found.sel(layer="1"))) > 0.1
    return np.exp(-np.sum(s / s.sum() * np.log(s / s.sum()))), found.sel(layer="1")


@row("torch_cka", rtol=1e-5)
def channels_and_pixels_are_units(torch_cka):
    torch.manual_seed(0)
    network, images = nn.Sequential(nn.Conv2d(1, 3, 3)), torch.randn(POINTS, 1, 5, 5)
    loader = DataLoader(TensorDataset(images), batch_size=POINTS)
    theirs = torch_cka_of(torch_cka, network, nn.Sequential(nn.Flatten()), "0", loader)
    mine = compare(network, None, images, ["input", "0"])["cka_debiased"]  # flattened, unless features= says otherwise
    return theirs, mine.sel(layer="0", other_layer="input")


# helpers


def cka_of(K, L):
    K, L = (A - A.mean(axis=0) - A.mean(axis=1, keepdims=True) + A.mean() for A in (K, L))
    return np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)


def squares(A):
    return squareform(pdist(A, "sqeuclidean"))


def cka_of_kernels(width):
    """CKA of Gaussian kernels, the squared width a function of the squared distances."""
    return cka_of(*(np.exp(-squares(A) / (2 * width(squares(A)))) for A in (X, Y)))


def of_thingsvision(**options):
    inner = importlib.import_module("thingsvision.core.cka.cka_numpy")
    return inner.CKANumPy(m=POINTS, **options).compare(X, Y)


def networks():
    """Two networks that take both representations side by side and have one of them as their layer `part`."""

    class Part(nn.Module):
        def __init__(self, columns):
            super().__init__()
            self.columns, self.part = columns, nn.Identity()

        def forward(self, x):
            return self.part(x[:, self.columns])

    return Part(slice(0, 5)), Part(slice(5, None)), TensorDataset(torch.cat(BOTH, dim=1))


def of_torch_cka(torch_cka, size):
    first, second, points = networks()
    torch.set_default_dtype(torch.float64)  # of its own ones and zeros: it takes no layers in double precision else
    try:
        return torch_cka_of(torch_cka, first, second, "part", DataLoader(points, batch_size=size))
    finally:
        torch.set_default_dtype(torch.float32)


def torch_cka_of(torch_cka, first, second, layer, loader):
    with contextlib.redirect_stderr(io.StringIO()):
        found = torch_cka.CKA(first, second, "first", "second", [layer], [layer], device="cpu")
        found.compare(loader, loader)
    return found.export()["CKA"].item()


def rdm(rsatoolbox, A, method="euclidean"):
    return rsatoolbox.rdm.calc_rdm(rsatoolbox.data.Dataset(A), method=method)


def compared(rsatoolbox, method, A=X, B=Y):
    return rsatoolbox.rdm.compare(rdm(rsatoolbox, A), rdm(rsatoolbox, B), method=method).item()


def all_pairs(name):
    return of_layer(name, pairs=PAIRS, measures=["pairs"])


def scatter():
    """Sigma_W, Sigma_B and the centered class means."""
    means = np.array([X[k == LABELS].mean(axis=0) for k in range(K)])
    inner, centered = X - means[LABELS], means - means.mean(axis=0)
    return inner.T @ inner / POINTS, centered.T @ centered / K, centered


@pytest.mark.parametrize("entry", [marked(entry) for entry in ROWS])
def test_what_equals_what(entry, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    theirs, ours = entry.both(peer(entry.module))
    if isinstance(theirs, list):
        assert theirs == ours
    else:
        np.testing.assert_allclose(np.asarray(theirs, float), np.asarray(ours, float), rtol=entry.rtol, atol=1e-12)
