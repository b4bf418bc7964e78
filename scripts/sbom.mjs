/**
 * Prints the bill of materials (CycloneDX) of what callgate runs with. `npm sbom --omit dev` leaves out packages
 * that a development tool uses too, and names a package that replaces another one by the replaced name.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const command = ['sbom', '--sbom-type', 'application', '--sbom-format', 'cyclonedx']
const bill = JSON.parse(execFileSync('npm', command, { cwd: root, stdio: ['ignore', 'pipe', 2] }))
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))

const isDevelopment = ({ properties = [] }) =>
  properties.some(({ name }) => name === 'cdx:npm:package:development')
const left = new Set(bill.components.filter(isDevelopment).map((component) => component['bom-ref']))

/** The name of each package that is installed under the name of another one. */
const realNames = new Map(
  Object.entries(packages)
    .filter(([path, { name }]) => path !== '' && name !== undefined)
    .map(([path, { name, version }]) => [`${path.split('node_modules/').at(-1)}@${version}`, name]),
)

bill.components = bill.components
  .filter((component) => !left.has(component['bom-ref']))
  .map((component) => {
    const name = realNames.get(`${component.name}@${component.version}`)
    if (name === undefined) return component
    const purl = `pkg:npm/${name.replace('@', '%40')}@${component.version}`
    return { ...component, name, purl }
  })
bill.dependencies = bill.dependencies
  .filter(({ ref }) => !left.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((to) => !left.has(to)) }))
process.stdout.write(`${JSON.stringify(bill, undefined, 2)}\n`)
