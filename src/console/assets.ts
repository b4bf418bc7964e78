/** The style sheet and scripts of the console, each at an address with its hash, so that browsers may keep it for ever. */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Asset {
  readonly path: string
  readonly contentType: string
  readonly bytes: Buffer
}

const contentTypes = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' }

function readAsset(name: string, type: keyof typeof contentTypes): Asset {
  const bytes = readFileSync(new URL(`./assets/${name}.${type}`, import.meta.url))
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
}
