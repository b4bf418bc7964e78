/** `callgate evidence ...`: checks of the records, and proofs for others. */
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
    .description('check the records, and prove them to others')
  registerReplay(group, terminal)
  registerReconcile(group, terminal)
  registerVerify(group, terminal)
  registerNewOrigin(group, terminal)
  registerProof(group, terminal)
  registerPack(group, terminal)
}
