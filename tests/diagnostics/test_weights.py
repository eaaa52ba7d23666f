"""The same weights in the ways in which trainers write them, and files that are refused for a true reason."""

import argparse
import json
import pathlib
import struct

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.base.errors import DataError
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.methods.weights import load_weights, with_weights
from repdyn.diagnostics.summary import summarize


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))


WEIGHTS = network(7).state_dict()
OTHERS = network(8).state_dict()


def under(prefix, weights=WEIGHTS, **more):
    return {f"{prefix}{name}": part for name, part in weights.items()} | more


def partly(name, wrapper):
    """The names where one part alone is wrapped."""
    return {key.replace(f"{name}.", f"{name}.{wrapper}.", 1): part for key, part in WEIGHTS.items()}


LOSS, METRIC = {"criterion.weight": torch.ones(3)}, {"train_acc.tp": torch.zeros(3)}
OPTIMIZER = {"state": {0: {"exp_avg": torch.zeros(3, 2)}}, "param_groups": [{"lr": 0.1}]}
HOLDING = {
    "plain": WEIGHTS,
    "DataParallel": under("module."),
    "compiled in DDP": under("module._orig_mod."),
    "DDP compiled": under("_orig_mod.module."),
    "Lightning, compiled": {"state_dict": under("model._orig_mod."), "epoch": 1, "optimizer_states": [OPTIMIZER]},
    "Lightning, self.net": {"state_dict": under("net.")},
    "Lightning, self.module.backbone": {"state_dict": under("module.backbone.")},
    "Lightning, loss": {"state_dict": under("model.", **LOSS)},
    "Lightning, metric": {"state_dict": under("model.", **METRIC)},
    "part compiled": partly("2", "_orig_mod"),
    "part in DataParallel": partly("1", "module"),
    "activation checkpointing": partly("0", "_checkpoint_wrapped_module"),
    "FSDP": under("_fsdp_wrapped_module."),
    "AveragedModel": under("module.", n_averaged=torch.tensor(5)),
    "net": {"net": WEIGHTS, "acc": 91.2},
    "DeepSpeed": {"module": WEIGHTS, "optimizer": None, "global_steps": 3},
    "model_state": {"model_state": WEIGHTS, "step": 1},
    "model and state_dict": {"model": {"state_dict": WEIGHTS, "model_args": {"width": 16}}},
    "three dictionaries": {"app": {"trainer": {"network": WEIGHTS}}},
    "EMA beside": {"state_dict_ema": OTHERS, "state_dict": WEIGHTS},
    "EMA in the module": {"state_dict": under("ema_model.module.", OTHERS) | under("model.")},
    "Lightning's averaging": {"current_model_state": under("model.", OTHERS), "state_dict": under("model.")},
    "EMA alone": {"ema": {"shadow": WEIGHTS, "decay": 0.99}},
    "optimizer of the same names": {"optimizer": {"exp_avg": OTHERS}, "model": WEIGHTS},
    "encoder and decoder": under("encoder.") | {"decoder.0.weight": torch.zeros(5, 2)},
    "without counts of batches": {name: part for name, part in WEIGHTS.items() if "num_batches" not in name},
}


def same(loaded, wanted=WEIGHTS):
    found = loaded.state_dict()
    return all(torch.equal(part, found[name]) for name, part in wanted.items() if "num_batches" not in name)


@pytest.mark.parametrize("way", HOLDING)
def test_the_same_weights_are_found_in_every_way_of_writing_them(way, tmp_path):
    torch.save(HOLDING[way], tmp_path / "weights.pth.tar")
    load_weights(loaded := network(), tmp_path / "weights.pth.tar")
    assert same(loaded)
    if way in ("plain", "DDP compiled", "part compiled"):  # and by the library, of a wrapped network
        assert same(with_weights(nn.DataParallel(network()), HOLDING[way], "other"))


def test_the_library_warns_of_what_it_does_not_use():
    with pytest.warns(UserWarning, match=r"other.*criterion\.weight"):
        assert same(with_weights(network(), under("model.", **LOSS), "other"))


@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.", "model.", "module._orig_mod.", "_orig_mod.model."])
def test_names_that_wrap_can_be_those_of_parts_of_the_network(prefix, tmp_path):
    class Around(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.add_module(name, network(7))
            self.head = nn.Linear(2, 2)

    for name in ("model", "module", "net"):
        saved, loaded = Around(name), Around(name)
        torch.save({"model": under(prefix, saved.state_dict())}, tmp_path / "weights.pt")
        load_weights(loaded, tmp_path / "weights.pt")
        assert same(loaded, saved.state_dict())


def test_a_partly_compiled_network_takes_the_names_of_all_its_forms(tmp_path):
    for saved in (WEIGHTS, partly("2", "_orig_mod"), under("_orig_mod.")):
        torch.save(saved, tmp_path / "weights.pt")
        loaded = network()
        loaded[2] = torch.compile(loaded[2])
        load_weights(loaded, tmp_path / "weights.pt")
        assert torch.equal(loaded[2].weight, WEIGHTS["2.weight"])
        assert torch.equal(loaded[0].weight, WEIGHTS["0.weight"])


def test_names_of_the_old_weight_norm_are_those_that_torch_itself_translates(tmp_path):
    loaded = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)), nn.Linear(3, 2))
    g, v = torch.rand(3, 1), torch.randn(3, 2)
    last = {"1.weight": torch.zeros(2, 3), "1.bias": torch.zeros(2)}
    torch.save({"net": {"0.bias": torch.zeros(3), "0.weight_g": g, "0.weight_v": v} | last}, tmp_path / "weights.pt")
    load_weights(loaded, tmp_path / "weights.pt")
    wanted = (g.double() * v.double() / v.double().norm(dim=1, keepdim=True)).float()
    torch.testing.assert_close(loaded[0].weight, wanted)


def test_one_line_says_what_was_taken_and_what_was_left(tmp_path):
    torch.save({"state_dict": under("model.", **LOSS), "state_dict_ema": OTHERS}, tmp_path / "weights.pt")
    text = load_weights(network(), tmp_path / "weights.pt")
    assert "state_dict/model" in text
    assert "criterion.weight" in text.partition("left")[2]
    assert "state_dict_ema" in text.partition("left")[2]
    torch.save(WEIGHTS, tmp_path / "weights.pt")
    assert "left" not in load_weights(network(), tmp_path / "weights.pt")


def test_a_tied_weight_may_be_missing_and_an_untied_one_may_not(tmp_path):
    class Tied(nn.Module):
        def __init__(self, tie):
            super().__init__()
            self.first, self.last = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
            if tie:
                self.last.weight = self.first.weight

    torch.save({"first.weight": torch.ones(5, 3)}, tmp_path / "weights.pt")
    load_weights(tied := Tied(True), tmp_path / "weights.pt")
    assert torch.equal(tied.last.weight, torch.ones(5, 3))
    with pytest.raises(DataError, match=r"weights\.pt.*last\.weight"):
        load_weights(Tied(False), tmp_path / "weights.pt")


def test_weights_that_do_not_fit_are_refused_with_all_their_names(tmp_path):
    torch.save([torch.zeros(2)], tmp_path / "list.pt")
    weights = dict(WEIGHTS)
    weights["2.weight"], weights["9.bias"] = torch.zeros(7, 7), weights.pop("0.bias")
    torch.save(weights, tmp_path / "other.pt")
    torch.save({"epoch": 3, "loss": torch.zeros(())}, tmp_path / "none.pt")
    (tmp_path / "text.pt").write_text("nothing")
    (tmp_path / "cut.pt").write_bytes((tmp_path / "other.pt").read_bytes()[:-100])
    (tmp_path / "pointer.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n")
    (tmp_path / "pointer.safetensors").write_bytes((tmp_path / "pointer.bin").read_bytes())
    torch.save({name: part.to("meta") for name, part in WEIGHTS.items()}, tmp_path / "meta.pt")
    np.savez(tmp_path / "arrays.npz", **{name: part.numpy() for name, part in WEIGHTS.items()})
    torch.jit.script(network()).save(tmp_path / "script.pt")
    (tmp_path / "empty").mkdir()
    torch.save(WEIGHTS, tmp_path / "model-00001-of-00002.bin")
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "model.safetensors.index.json").write_text('{"weight_map": {"0.bias": 1}}')
    twice = under("first.") | under("second.", OTHERS)
    torch.save(twice, tmp_path / "twice.pt")
    for name, message in (
        ("list.pt", r"list\.pt.*list"),
        ("other.pt", r'other\.pt.*"0\.bias".*"9\.bias".*2\.weight'),
        ("none.pt", r"none\.pt.*epoch, loss"),
        ("text.pt", r"text\.pt"),
        ("cut.pt", r"cut\.pt"),
        ("absent.pt", r"absent\.pt.*no such file"),
        ("pointer.bin", "Git LFS.*git lfs pull"),
        ("pointer.safetensors", "Git LFS.*git lfs pull"),
        ("meta.pt", r"9 weights \(0\.weight, \.\.\.\) were on the device meta"),
        ("arrays.npz", r"arrays\.npz.*no file of torch\.save"),
        ("script.pt", "TorchScript"),
        ("empty", r"empty: holds no weights.*\.pt"),
        ("model-00001-of-00002.bin", "one of 2 parts.*the folder"),
        ("index", "no weight_map"),
        ("twice.pt", r"twice\.pt.*'first', 'second'"),
    ):
        with pytest.raises(DataError, match=message) as raised:
            load_weights(network(), tmp_path / name)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize(
    ("value", "named"),
    [
        (argparse.Namespace(lr=0.1), "argparse.Namespace"),
        (np.float64(0.3), "numpy._core.multiarray.scalar"),
        (pathlib.Path("here"), "pathlib"),
        (nn.Linear(2, 2), "torch.nn.modules.linear.Linear"),
    ],
)
def test_objects_in_a_file_are_refused_by_their_type(value, named, zipped, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"state_dict": WEIGHTS, "extra": value}, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(DataError, match=named) as raised:
        load_weights(network(), path)
    assert "\x1b" not in str(raised.value)
    assert "state_dict()" in str(raised.value)


# other formats


def as_safetensors(weights, path):
    """The format as its authors describe it: length of the header, header, numbers."""
    header, body = {"__metadata__": {"format": "pt"}}, b""
    kinds = {torch.float32: "F32", torch.int64: "I64", torch.bfloat16: "BF16"}
    for name, part in weights.items():
        numbers = part.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        ends = [len(body), len(body) + len(numbers)]
        header[name] = {"dtype": kinds[part.dtype], "shape": list(part.shape), "data_offsets": ends}
        body += numbers
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def test_safetensors_in_files_folders_and_parts(tmp_path):
    as_safetensors(WEIGHTS, tmp_path / "model.safetensors")
    for place in (tmp_path / "model.safetensors", tmp_path):
        load_weights(loaded := network(), place)
        assert same(loaded)
    halves = {name: part.bfloat16() if part.is_floating_point() else part for name, part in WEIGHTS.items()}
    as_safetensors(halves, tmp_path / "halves.safetensors")
    load_weights(loaded := network(), tmp_path / "halves.safetensors")
    assert same(loaded, {name: part.float() for name, part in halves.items()})
    content = (tmp_path / "model.safetensors").read_bytes()
    torch.save(WEIGHTS, tmp_path / "zipped.safetensors")  # what a file is, not its name, says how it is read
    (tmp_path / "plain.pt").write_bytes(content)
    for name in ("zipped.safetensors", "plain.pt"):
        load_weights(loaded := network(), tmp_path / name)
        assert same(loaded)
    for cut in (content[:-1], content[:30], b""):
        (tmp_path / "cut.safetensors").write_bytes(cut)
        with pytest.raises(DataError, match=r"cut\.safetensors"):
            load_weights(network(), tmp_path / "cut.safetensors")


@pytest.mark.parametrize(("kind", "size"), [("U16", 2), ("C64", 8), ("F4", 1), ("F8_E8M0", 1)])
def test_other_entries_may_have_numbers_that_torch_lacks(kind, size, tmp_path):
    as_safetensors(WEIGHTS | {"scale": torch.zeros(8 * size).bfloat16()}, tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    header["scale"] |= {"dtype": kind, "shape": [16]}
    text = json.dumps(header).encode()
    path = tmp_path / "scaled.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])
    load_weights(loaded := network(), path)
    assert same(loaded)


def test_safetensors_with_an_impossible_shape_are_refused(tmp_path):
    header = b'{"a": {"dtype": "F32", "shape": [-1, -4], "data_offsets": [0, 16]}}'
    (tmp_path / "odd.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16))
    with pytest.raises(DataError, match=r"odd\.safetensors"):
        load_weights(network(), tmp_path / "odd.safetensors")


@pytest.mark.parametrize("suffix", ["bin", "safetensors"])
def test_parts_of_weights_are_one_network_and_all_are_needed(suffix, tmp_path):
    stem = "pytorch_model" if suffix == "bin" else "model"
    names = list(WEIGHTS)
    files = [f"{stem}-0000{number}-of-00002.{suffix}" for number in (1, 2)]
    write = torch.save if suffix == "bin" else as_safetensors
    for file, part in zip(files, (names[:3], names[3:]), strict=True):
        write({name: WEIGHTS[name] for name in part}, tmp_path / file)
    torch.save(OPTIMIZER, tmp_path / "optimizer.pt")
    index = tmp_path / f"{stem}.{suffix}.index.json"
    for _ in range(2):  # without and with the index
        load_weights(loaded := network(), tmp_path)
        assert same(loaded)
        index.write_text(json.dumps({"weight_map": {name: files[at > 2] for at, name in enumerate(names)}}))
    (tmp_path / files[1]).unlink()
    with pytest.raises(DataError, match=files[1]):
        load_weights(network(), tmp_path)
    index.unlink()
    with pytest.raises(DataError, match="of 00002"):
        load_weights(network(), tmp_path)


def test_distributed_checkpoints_are_refused_with_the_way_out(tmp_path):
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    checkpoint.save(dict(WEIGHTS), checkpoint_id=tmp_path / "dcp", no_dist=True)
    with pytest.raises(DataError, match=r"dcp.*dcp_to_torch"):
        load_weights(network(), tmp_path / "dcp")
    dcp_to_torch_save(tmp_path / "dcp", tmp_path / "weights.pt")  # what the way out calls
    load_weights(loaded := network(), tmp_path / "weights.pt")
    assert same(loaded)


def test_a_wrapped_network_takes_its_own_earlier_weights():
    X, labels = torch.randn(12, 2, generator=torch.Generator().manual_seed(0)), np.arange(12) % 2
    for wrap in (nn.DataParallel, torch.compile):
        first, earlier = wrap(network(1)), wrap(network(7))
        found = compare(first, earlier.state_dict(), X, ["0", "2"])
        np.testing.assert_array_equal(found["cka"], compare(network(1), network(7), X, ["0", "2"])["cka"])
        sentences = summarize(first, X, labels=labels, before=earlier.state_dict())
        assert len(sentences) == len(summarize(network(1), X, labels=labels, before=network(7)))
