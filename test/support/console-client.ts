/** Signs in to the console and keeps its cookie, as a browser without script does. */
import { expect } from 'vitest'
import type { TestCallgate } from './test-callgate.js'

interface ConsolePage {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Where it led, at last. */
  readonly path: string
}

export interface ConsoleClient {
  readonly cookie: string
  get(path: string): Promise<ConsolePage>
  /** Sends the form of a page with its token. */
  post(path: string, form: Readonly<Record<string, string>>): Promise<ConsolePage>
}

export const sameOrigin = { 'sec-fetch-site': 'same-origin' }

export async function openConsoleClient(
  { url }: Pick<TestCallgate, 'url'>,
  key: string,
): Promise<ConsoleClient> {
  const signedIn = await fetch(`${url}/console/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ key }),
    headers: sameOrigin,
    redirect: 'manual',
  })
  expect(signedIn.status, await signedIn.clone().text()).toBe(303)
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const follow = async (path: string, init?: RequestInit): Promise<ConsolePage> => {
    const response = await fetch(`${url}${path}`, {
      ...init,
      headers: { ...sameOrigin, cookie },
      redirect: 'manual',
    })
    const location = response.headers.get('location')
    if (response.status === 303 && location !== null) return await follow(location)
    const { status, headers } = response
    return { status, headers, text: await response.text(), path }
  }
  const readToken = async () =>
    /name="formToken" value="([^"]+)"/.exec((await follow('/console')).text)?.[1] ?? ''
  return {
    cookie,
    get: (path) => follow(path),
    async post(path, form) {
      const body = new URLSearchParams({ formToken: await readToken(), ...form })
      return await follow(path, { method: 'POST', body })
    },
  }
}
