/** Keys as `callgate --person <name> keys create` makes them, by whom and when a test needs. */
import { hash } from 'node:crypto'
import type { CreatedApiKey, NewApiKey } from '../../src/service/accounts/api-keys.js'
import type { TestCallgate } from './test-callgate.js'

const dayMs = 86_400_000

/** Able to approve what is asked for from now on, unless `madeAt` says otherwise. */
export async function createPersonKey(
  running: Pick<TestCallgate, 'callgate' | 'clock'>,
  name: string,
  { madeAt, ...more }: Partial<NewApiKey> & { readonly madeAt?: number } = {},
): Promise<CreatedApiKey> {
  const made = await running.callgate.keys.create({
    ...{ accountId: 'main', role: 'Supervisor', label: name },
    ...more,
  })
  await makePersonal(running, made.key, name, madeAt)
  return made
}

/** Makes a key that there is one of a person, who was able to approve at `madeAt`; a day ago by default. */
export async function makePersonal(
  { callgate, clock }: Pick<TestCallgate, 'callgate' | 'clock'>,
  key: string,
  name: string,
  madeAt = clock.at - dayMs,
): Promise<void> {
  await callgate.storage.db
    .updateTable('api_keys')
    .set({ root: `user:root/${name}`, is_personal: 1, created_at: madeAt })
    .where('key_hash', '=', hash('sha256', key))
    .execute()
}
