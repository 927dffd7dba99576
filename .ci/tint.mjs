// node .ci/tint.mjs FILE...: what Tint, the WGSL compiler of Chromium, has to say against each file of WGSL. Ends with 1 if
// it refuses one. Tint comes within Dawn, whose null backend needs no driver; .ci/drivers puts it in its place.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const dawn = createRequire(import.meta.url)('../.drivers/dawn/dawn.node');
Object.assign(globalThis, dawn.globals);
// Dawn does not keep these two alive for the device, which needs them.
const gpu = dawn.create(['backend=null']);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice();
device.onuncapturederror = () => {}; // they come with their places below

let refused = 0;
for (const file of process.argv.slice(2)) {
    const module = device.createShaderModule({ code: readFileSync(file, 'utf8') });
    const { messages } = await module.getCompilationInfo();
    for (const { type, lineNum, linePos, message } of messages) {
        console.log(`${file}:${lineNum}:${linePos}: ${type}: ${message}`);
    }
    if (messages.some(({ type }) => type === 'error')) refused += 1;
}
// Dawn keeps the process alive otherwise; `gpu` and `adapter` are alive until here.
process.exit(refused > 0 || !gpu || !adapter ? 1 : 0);
