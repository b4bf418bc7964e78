/** `callgate import ...`: turns downloaded files into prepared data. */
import type { RegisterCommand } from '../command.js'
import { registerFactImports } from './fact-imports.js'
import { registerListImports } from './list-imports.js'
import { registerNumberingImports } from './numbering-imports.js'

export const registerImport: RegisterCommand = (program, terminal) => {
  const group = program
    .command('import')
    .description('import downloaded files as the data that decisions are based on')
  registerNumberingImports(group, terminal)
  registerListImports(group, terminal)
  registerFactImports(group, terminal)
}
