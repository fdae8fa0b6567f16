import gossamer from '@gossamer/vite';

export default {plugins: [gossamer({types: true})]};
