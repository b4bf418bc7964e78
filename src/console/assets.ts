/** The style sheet and scripts of the console, each at an address with its hash, so that browsers may keep it for ever. */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

export interface Asset {
  readonly path: string
  readonly contentType: string
  readonly bytes: Buffer
}

const contentTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' }

const packages = createRequire(import.meta.url)

function readAsset(
  name: string,
  type: keyof typeof contentTypes,
  file: string | URL = new URL(`./assets/${name}.${type}`, import.meta.url),
): Asset {
  const bytes = readFileSync(file)
  const version = hash('sha256', bytes).slice(0, 16)
  return {
    path: `/console/assets/${version}/${name}.${type}`,
    contentType: contentTypes[type],
    bytes,
  }
}

export const assets = {
  style: readAsset('console', 'css'),
  script: readAsset('console', 'js'),
  now: readAsset('now', 'js'),
  // Each begins with its license, or is with the license in the package.
  chartStyle: readAsset('uplot', 'css', packages.resolve('uplot/dist/uPlot.min.css')),
  chartScript: readAsset('uplot', 'js', packages.resolve('uplot/dist/uPlot.iife.min.js')),
}
