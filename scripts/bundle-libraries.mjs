/**
 * Writes libraries of many small files, which nearly every start loads, each as one file into `dist/node_modules`, where the
 * program finds them before those that are installed.
 */
import { writeFileSync } from 'node:fs'
import { rolldown } from 'rolldown'

for (const library of ['kysely', 'zod', 'prom-client']) {
  const { default: _, ...exported } = await import(library)
  const entry = `export { ${Object.keys(exported).join(', ')} } from '${library}'`
  const bundle = await rolldown({
    input: 'entry',
    platform: 'node',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? id : undefined),
        load: (id) => (id === 'entry' ? entry : undefined),
      },
    ],
  })
  const folder = `dist/node_modules/${library}`
  await bundle.write({ file: `${folder}/index.js`, format: 'esm' })
  await bundle.close()
  writeFileSync(`${folder}/package.json`, JSON.stringify({ type: 'module', exports: './index.js' }))
}
