import {headers} from '@gossamer/webpack';

export default {
  module: {rules: [{test: /\.onnx$/, use: {loader: '@gossamer/webpack', options: {types: true}}}]},
  devServer: {headers},
};
