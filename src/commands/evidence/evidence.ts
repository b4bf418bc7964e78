/** `callgate evidence ...`: what shows that the records are right and complete. */
import type { RegisterCommand } from '../command.js'
import { registerNewOrigin } from './new-origin.js'

export const registerEvidence: RegisterCommand = (program, terminal) => {
  const group = program
    .command('evidence')
    .description('show that the records are right and complete')
  registerNewOrigin(group, terminal)
}
