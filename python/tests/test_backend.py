"""ONNX's own suite through the backend interface: all kinds but those whose models it would download."""

import onnx.backend.test

import gossamer.backend

suite = onnx.backend.test.BackendTest(gossamer.backend, __name__)
globals().update({name: cases for name, cases in suite.test_cases.items() if name != "OnnxBackendRealModelTest"})
