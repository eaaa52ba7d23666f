"""Mutations of the kind that real bugs are, found by reading, for `audits.named`."""

from __future__ import annotations

from typing import NamedTuple

SEVERAL = " ... "  # between several exchanges of one mutation


class Named(NamedTuple):
    """A mutation: what it is, where, the code before and after, and tests that no static reading leads to."""

    says: str
    module: str
    function: str
    before: str
    after: str
    tests: tuple[str, ...] = ()


BND, BNM, TFL = "bn_decomposed", "bn_mean_field", "truncation_flow"
LRN, UNI, DIAG = "leaky_resnets", "universality", "diagnostics"
TRIALS = ("test_more_trials.py",)
CHECKPOINTS, SIMULATE = ("base/test_checkpoints.py",), ("pipeline/test_simulate.py",)
WORKFLOW = ("pipeline/test_workflow.py",)

EXPERIMENTS = (
    Named("one seed for all trials", f"{BND}.experiments.training", "training", ".child(depth, seed)", ".child(depth)"),
    Named("one seed for all starts", f"{BNM}.experiments.speed_ratio", "speed_ratio", "generator(seed)", "generator()"),
    Named("one seed for all starts", f"{BNM}.experiments.learning_rates", "_starts", "generator(seed)", "generator()"),
    Named(
        "one seed for all networks",
        f"{DIAG}.experiments.network",
        "convolutional_network",
        'generator(seed, "weights")',
        'generator("weights")',
    ),
    Named(
        'ranks "at initialization" measured after training',
        f"{BND}.experiments.training",
        "_trial",
        'return {"accuracy": np.array(list(steps))}',
        "steps = list(steps); ranks = networks.rank_profile(network, X[: settings.rank_points])\n"
        '    return {"accuracy": np.array(steps)}',
    ),
    Named(
        "best rate by training accuracy",
        f"{BND}.experiments.point_neurons",
        "point_neurons",
        'best = np.nan_to_num(ends["test',
        'best = np.nan_to_num(ends["train',
    ),
    Named(
        "loss matched the wrong way round",
        f"{BNM}.experiments.speed_ratio",
        "_ratio_dataset",
        "loss[bn], loss[vanilla]",
        "loss[vanilla], loss[bn]",
    ),
    Named(
        "largest and median exchanged",
        f"{BNM}.experiments.speed_ratio",
        "speed_ratio",
        "speed.max(axis=-1), np.median(speed, axis=-1)",
        "np.median(speed, axis=-1), speed.max(axis=-1)",
    ),
    Named(
        'share at the end as "at the start"',
        f"{TFL}.experiments.collapse",
        "neural_collapse",
        "isel(time=0)",
        "isel(time=-1)",
    ),
    Named(
        'largest decay as "least"',
        f"{TFL}.experiments.propagators",
        "propagators",
        "rate.min()",
        "rate.max()",
    ),
    Named(
        "first layer's rotation for all",
        f"{TFL}.experiments.all_layers",
        "general_flow",
        "general.forward(points, a, c)",
        "general.forward(points, rotations[0], c)",
    ),
    Named(
        "held-out points trained on",
        f"{DIAG}.experiments.network",
        "convolutional_network",
        "X[rest], labels[rest]",
        "X, labels",
    ),
    Named(
        "training points counted as test points",
        f"{BND}.experiments.point_neurons",
        "_descend",
        "right[cut:]",
        "right[:]",
    ),
    Named(
        "recorded after the step",
        f"{DIAG}.experiments.network",
        "descend",
        "        yield step\n        if" + SEVERAL + " / 2, settings.rate)\n",
        "        if" + SEVERAL + " / 2, settings.rate)\n        yield step\n",
    ),
    Named(
        "a wrong depth carried along the chain",
        f"{LRN}.experiments.chains",
        "_stages",
        "before[names[last]]",
        "before[names[settings.effective_depths[0]]]",
    ),
    Named(
        "every depth from scratch",
        f"{LRN}.experiments.chains",
        "_stages",
        "if settings.from_scratch:",
        "if not settings.from_scratch:",
    ),
)
CLAIMS = (
    Named("false alarm not shared among cells", f"{BND}.claims.worst_of", "worst_mean", "/ len(cells)", ""),
    Named("... among exponents", f"{BNM}.claims.section3_limit", "", "1e-3 / len(exponents)", "1e-3"),
    Named("... among networks", f"{UNI}.claims.two_points", "", "FEW / len(rows)", "FEW"),
    Named(
        "largest in place of means",
        f"{BND}.claims.odd_point",
        "",
        '.mean(("source", "seed"))',
        '.max(("source", "seed"))',
    ),
    Named(
        "largest in place of means",
        f"{BNM}.claims.section4_1_speeds",
        "",
        '["outer_contrast"].mean("seed")',
        '["outer_contrast"].max("seed")',
    ),
    Named(
        "largest in place of means",
        f"{LRN}.claims.discretization",
        "",
        '(logs < 0).mean("layers")',
        '(logs < 0).max("layers")',
    ),
    Named("least along another axis", f"{BND}.claims.rank_of_layers", "", 'min("rows")', "min()"),
    Named(
        "largest along another axis",
        f"{BND}.claims.simplified_model",
        "",
        '.max("point").transpose("row"',
        '.max("row").transpose("point"',
    ),
    Named(
        "largest along another axis", f"{LRN}.claims.geodesics", "", 'drift.max(("bias", "draw"))', 'drift.max("draw")'
    ),
    Named(
        "a control decided by another form",
        "base.claims",
        "_same_form",
        "(turned.corrected if verdict.corrected and turned.corrected else None) or turned.printed",
        "turned.printed",
    ),
    Named(
        "datasets in the order of the alphabet",
        "base.claims",
        "decide_claim",
        "tuple(datasets[name] for name in claim.data)",
        "tuple(datasets[name] for name in sorted(claim.data))",
        ("base/test_claims.py",),
    ),
)
CHECKPOINT = (
    *(
        Named(f"resumed after other {what}", "pipeline.run.kinds.simulate", "_identity", text, "0,", SIMULATE)
        for what, text in (
            ("settings", "settings,"),
            ("seeds", 'member["seed"],'),
            ("code", 'member["code"],'),
            ("inputs", "digests,"),
        )
    ),
    Named(
        "resumed on another device",
        "pipeline.run.kinds.simulate",
        "_identity",
        "numerics(device)",
        'numerics("cpu")',
        SIMULATE,
    ),
    Named("seeds among what a trial depends on", "base.settings", "of_one_trial", "EACH not in", "EACH is not", TRIALS),
    Named("layout of arrays as it comes", "base.checkpoints", "_in_order", ', order="C"', "", TRIALS),
    Named(
        "resumed with other packages",
        "base.checkpoints",
        "Checkpoint",
        "\\n{package_versions(*PACKAGES)}",
        "",
        CHECKPOINTS,
    ),
    Named(
        "seal not compared",
        "base.checkpoints",
        "Checkpoint",
        "digest != _digest(self.identity, name, stored) or ",
        "",
        CHECKPOINTS,
    ),
    Named("name not under the seal", "base.checkpoints", "_digest", "[identity, name]", "[identity]", CHECKPOINTS),
    Named("half-written files read", "base.checkpoints", "Checkpoint", '"[!.]*.npz"', '"*"', CHECKPOINTS),
    Named(
        "every claim gets the first one's code version",
        "pipeline.run.kinds.decide",
        "run",
        '"code_version": check["code"]',
        '"code_version": next(iter(member["claims"].values()))["code"]',
        SIMULATE,
    ),
    Named(
        "further arguments not recorded",
        "pipeline.run.kinds.simulate",
        "run",
        '("seed", "settings", "arguments")',
        '("seed", "settings")',
        SIMULATE,
    ),
    Named("device not recorded", "pipeline.run.kinds.simulate", "run", "        device=device,\n", "", SIMULATE),
    Named(
        "another device recorded", "pipeline.run.kinds.simulate", "run", "device=device,", 'device="cuda",', SIMULATE
    ),
    Named(
        "no folder for finished trials",
        "pipeline.run.execute.entry",
        "run_members",
        "run(member, results, finished)",
        "run(member, results, None)",
        WORKFLOW,
    ),
)
FILES = (
    Named(
        "claims that only the second run has",
        "pipeline.ask.compare",
        "_verdict_changes",
        "[*old, *new]",
        "[*old]",
        ("pipeline/test_compare.py",),
    ),
    Named(
        "records without inputs",
        "pipeline.run.execute.records",
        "_record",
        "_digests(job.inputs)",
        "{}",
        ("pipeline/test_jobs.py", "pipeline/test_verify.py"),
    ),
    Named(
        "torch's version missing",
        "pipeline.run.machine.environment",
        "PACKAGES",
        '    "torch",\n',
        "",
        ("pipeline/test_manifest.py",),
    ),
    Named(
        "untracked files are no edits",
        "pipeline.run.kinds.manifest",
        "_commit",
        '"--porcelain")',
        '"--porcelain", "--untracked-files=no")',
        ("pipeline/test_manifest.py",),
    ),
    Named(
        "too many rates accepted",
        f"{BND}.settings.networks",
        "Training",
        "!= len(self.depths)",
        "< len(self.depths)",
        ("bn_decomposed/test_training.py",),
    ),
    Named(
        "unexplained infinities pass",
        "base.datasets",
        "problems",
        "not np.isfinite(array.values).all()",
        "np.isnan(array.values).any()",
        ("base/test_datasets.py",),
    ),
)
RULES = tuple(
    Named(says, "pipeline.run.declare.workflow", "RunJobs", before, after, WORKFLOW)
    for says, before, after in (
        (
            "another function's code version",
            'self._code("simulate", function.root)',
            'self._code("simulate", list(functions.values())[0].root)',
        ),
        (
            "an edit of the runner runs nothing again",
            'self._code("simulate", function.root)',
            "self._versions.of(function.root)",
        ),
        (
            "the first table's code version for all",
            "self._code(runner, function.root)",
            "self._code(runner, list(getattr(self._study(study), kind).values())[0].root)",
        ),
        ("an input of tables missing", "for name in function.reads},", "for name in function.reads[:1]},"),
        ("run.seed ignored", '"seed": self.config.run.seed', '"seed": 1'),
        (
            "code of claims: the first one's",
            "self._check(id, check)",
            "self._check(id, next(iter(checks.values())))",
        ),
    )
)
SHOWN = (
    Named("colors exchanged", f"{DIAG}.figures.depth", "_collapse_panel", 'label, color, ":"', 'label, "C3", ":"'),
    Named("NC1 drawn as NC2", f"{DIAG}.figures.depth", "_collapse_panel", 'moment["nc1"]', 'moment["equiangle"]'),
    Named("another variable", f"{DIAG}.figures.depth", "_odd_panel", '"norm_ratio"', '"numerical_rank"'),
    Named(
        "panels exchanged",
        f"{BNM}.figures.learning_speed",
        "matched_loss",
        '("ratio", "matched_ratio"), strict=True):\n            panel.plot(cell',
        '("matched_ratio", "ratio"), strict=True):\n            panel.plot(cell',
    ),
    Named(
        "colors exchanged",
        f"{BNM}.figures.learning_speed",
        "matched_loss",
        '(ORANGE, "--", "y = x2", "$y = x_2$"), (GREEN',
        '(GREEN, "--", "y = x2", "$y = x_2$"), (ORANGE',
    ),
    Named(
        "speeds at the wrong angles",
        f"{BNM}.figures.neuron_directions",
        "_draw_speed",
        'cell["speed"].values[order]',
        'cell["speed"].values',
    ),
    Named(
        "w drawn as loss",
        f"{UNI}.figures.default_network",
        "n5_closed_form",
        'both.sel(source="network")',
        'both.sel(source="theory")',
    ),
    Named(
        "printed and corrected columns exchanged",
        f"{TFL}.tables",
        "",
        '"largest error as printed": float(part["printed"])'
        + SEVERAL
        + '"largest error corrected": float(part["corrected"])',
        '"largest error as printed": float(part["corrected"])'
        + SEVERAL
        + '"largest error corrected": float(part["printed"])',
    ),
    Named(
        "--effective-depth ignored",
        f"{DIAG}.command",
        "run_arguments",
        "        effective_depth=arguments.effective_depth,\n",
        "",
        ("diagnostics/test_command.py",),
    ),
    Named(
        "effective depth ignored",
        f"{DIAG}.command",
        "measure_and_save",
        "Residual(tuple(residual), effective_depth)",
        "Residual(tuple(residual), 0.0)",
        ("diagnostics/test_command.py",),
    ),
    Named(
        "dropout on", f"{DIAG}.methods.forward", "", "model.eval()", "model.train()", ("diagnostics/test_measure.py",)
    ),
    Named(
        "time not from the first record",
        f"{DIAG}.methods.effective_theory",
        "fit",
        "values.astype(float) - float(part[time][0])",
        "values.astype(float)",
        ("diagnostics/test_effective_theory.py",),
    ),
)
AREAS = {
    "experiments": EXPERIMENTS,
    "claims": CLAIMS,
    "checkpoints": CHECKPOINT,
    "files": FILES,
    "rules": RULES,
    "shown": SHOWN,
}
