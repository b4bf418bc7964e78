/** Copies of the built program that differ from it in one place. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface PlantedProgram {
  readonly program: string
  remove(): void
}

/** It is beside the built one, where it finds what it needs. `file` must have the text. */
export function plantProgram(file: string, text: string, instead: string): PlantedProgram {
  const root = join(import.meta.dirname, '../..')
  const folder = mkdtempSync(join(root, 'dist-planted-'))
  cpSync(join(root, 'dist'), folder, { recursive: true })
  const source = readFileSync(join(folder, file), 'utf8')
  if (!source.includes(text)) throw new Error(`${file} does not have: ${text}`)
  writeFileSync(join(folder, file), source.replace(text, instead))
  return {
    program: join(folder, 'main.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
