/** `callgate import ...`: downloaded files become prepared data. */
import type { AddCommand } from './command.js'
import { addChangesImport } from './import-changes.js'
import { addFactImports } from './import-facts.js'
import { addListImports } from './import-lists.js'
import { addNumberingImports } from './import-numbering.js'
import { addPortedImport } from './import-ported.js'

export const addImport: AddCommand = (program, terminal) => {
  const group = program
    .command('import')
    .description('turn downloaded files into the data calls are judged by')
  addNumberingImports(group, terminal)
  addListImports(group, terminal)
  addChangesImport(group, terminal)
  addPortedImport(group, terminal)
  addFactImports(group, terminal)
}
