/** Makes `dist/evidence/verify.mjs`, the verifier in evidence bundles: one file that needs Node alone. */
import { rolldown } from 'rolldown'

const [file = 'dist/evidence/verify.mjs'] = process.argv.slice(2)
const bundle = await rolldown({ input: 'src/evidence/bundle/verify/verifier.ts', platform: 'node' })
await bundle.write({ file, format: 'esm' })
await bundle.close()
