/** The project the cases look at: one the facts name, or one made by the call that clients use. */
import { ask } from './client.js'
import { runMark } from './numbers.js'
import { run } from './run.js'
import type { Needs, Row } from './sentence.js'

export const projectPath = (code: string) => `/v1.5/projects/${encodeURIComponent(code)}`

/** The project that was made here, and whether it is switched on. */
let made: { readonly code: string; active: boolean } | undefined
let once: Promise<string | undefined> | undefined

export async function projectCode(needs: Needs): Promise<string> {
  once ??= run.facts.project ? Promise.resolve(run.facts.project.code) : created()
  const code = await once
  if (made && !made.active) await switchTo('reactivate_project')
  return needs(code, 'facts.project, or a server that makes projects by POST /v1.5/projects')
}

/** A project cannot be removed; what was made here is switched off after each section. */
export async function takeBackProject(): Promise<void> {
  if (made?.active) await switchTo('deactivate_project')
}

async function switchTo(handler: 'reactivate_project' | 'deactivate_project'): Promise<void> {
  if (!made) return
  const form = { project_code: made.code, handler }
  await ask({ at: 'rpc', path: '/app/main/rpc/project', form })
  made.active = handler === 'reactivate_project'
}

async function created(): Promise<string | undefined> {
  const ProjectCode = `CONF${runMark}`
  const reply = await ask({
    path: '/v1.5/projects',
    json: { ProjectCode, ProjectName: `Conformance ${runMark}` },
  })
  if (reply.status !== 200 && reply.status !== 201) return undefined
  const code = String((reply.json() as Row).ProjectCode)
  made = { code, active: true }
  return code
}

export async function project(needs: Needs): Promise<Row> {
  const reply = await ask({ path: projectPath(await projectCode(needs)) })
  if (reply.status !== 200) throw new Error(`project answers ${reply.status}: ${reply.text}`)
  return reply.json() as Row
}
