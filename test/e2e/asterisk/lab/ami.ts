/** One action on the Asterisk manager interface, as a dialer would send it. */
import { once } from 'node:events'
import { connect } from 'node:net'

export interface AmiLogin {
  readonly port: number
  readonly username: string
  readonly secret: string
}

/** Header name and value; a name that comes more than once, such as Variable, has several values. */
export type AmiHeaders = Readonly<Record<string, string | readonly string[]>>

/** Logs in, sends the action and gives the fields of its response, `Response` and `Message` among them. */
export async function amiAction(
  { port, username, secret }: AmiLogin,
  action: AmiHeaders,
): Promise<Readonly<Record<string, string>>> {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('utf8')
  })
  socket.setTimeout(10_000, () => socket.destroy(new Error('AMI: silent for 10 s')))
  const answerTo = async (id: string) => {
    for (;;) {
      const answer = packets(received).find((fields) => fields.ActionID === id)
      if (answer) return answer
      await once(socket, 'data')
    }
  }
  try {
    await once(socket, 'connect')
    const login = { Action: 'Login', Username: username, Secret: secret, Events: 'off' }
    socket.write(packet({ ...login, ActionID: 'login' }))
    const welcome = await answerTo('login')
    if (welcome.Response !== 'Success') throw new Error(`AMI: ${welcome.Message}`)
    socket.write(packet({ ...action, ActionID: 'action' }))
    return await answerTo('action')
  } finally {
    socket.destroy()
  }
}

function packet(headers: AmiHeaders): string {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`),
  )
  return `${lines.join('')}\r\n`
}

/** Whole packets only; the banner counts as part of the first and does no harm. */
function packets(text: string): readonly Record<string, string>[] {
  const whole = text.slice(0, text.lastIndexOf('\r\n\r\n') + 1)
  return whole.split('\r\n\r\n').map((part) =>
    Object.fromEntries(
      part.split('\r\n').map((line) => {
        const colon = line.indexOf(': ')
        return [line.slice(0, colon), line.slice(colon + 2).trim()]
      }),
    ),
  )
}
