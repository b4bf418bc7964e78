/** Access tokens, asked for at the addresses the specification names. */
import { type Ask, ask, type Reply } from './client.js'
import { run } from './run.js'
import { asRow, type Needs, type Row } from './sentence.js'

/** The specification names two and is sure of neither. */
export const tokenAddresses: readonly Pick<Ask, 'at' | 'path'>[] = [
  { at: 'auth', path: '/oauth/token' },
  { at: 'base', path: '/v1.5/oauth/token' },
]

export function askToken(
  form: Readonly<Record<string, string>>,
  where: Pick<Ask, 'at' | 'path'> | undefined = tokenAddresses[0],
): Promise<Reply> {
  return ask({ path: '/oauth/token', ...where, form, key: null })
}

/** The three fields of a request that must succeed. */
export async function goodForm(needs: Needs): Promise<Readonly<Record<string, string>>> {
  return {
    grant_type: 'client_credentials',
    client_id: await accountId(needs),
    client_secret: run.loginId,
  }
}

/** The option, or what the authentication check tells. */
async function accountId(needs: Needs): Promise<string> {
  if (run.accountId !== undefined) return run.accountId
  const reply = await ask({ path: '/v1.5/Auth/Validate' })
  const told = reply.status === 200 ? (JSON.parse(reply.text) as Row).AcctId : undefined
  return needs(typeof told === 'string' ? told : undefined, '--account-id')
}

/** The address that answers with a token, and its answer. */
async function firstToken(form: Readonly<Record<string, string>>): Promise<Row | undefined> {
  for (const where of tokenAddresses) {
    const reply = await askToken(form, where)
    if (reply.status === 200) return asRow(reply.json())
  }
  return undefined
}

let once: Promise<Row | undefined> | undefined

export async function tokenAnswer(needs: Needs): Promise<Row> {
  const form = await goodForm(needs)
  once ??= firstToken(form)
  const answer = await once
  if (answer === undefined) throw new Error('neither address of tokens answers with 200')
  return answer
}

export async function bearer(needs: Needs): Promise<Readonly<Record<string, string>>> {
  return { authorization: `Bearer ${(await tokenAnswer(needs)).access_token}` }
}
