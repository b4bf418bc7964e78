/** `callgate evidence ...`: what shows that the records are right and complete. */
import type { RegisterCommand } from '../command.js'
import { registerNewOrigin } from './new-origin.js'
import { registerPack } from './pack.js'
import { registerProof } from './proof.js'
import { registerReconcile } from './reconcile.js'
import { registerReplay } from './replay.js'
import { registerVerify } from './verify.js'

export const registerEvidence: RegisterCommand = (program, terminal) => {
  const group = program
    .command('evidence')
    .description('show that the records are right and complete')
  registerReplay(group, terminal)
  registerReconcile(group, terminal)
  registerVerify(group, terminal)
  registerNewOrigin(group, terminal)
  registerProof(group, terminal)
  registerPack(group, terminal)
}
