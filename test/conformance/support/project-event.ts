/** A change that a server tells the address of a project, caused once for all sections. */
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from './client.js'
import { runMark } from './numbers.js'
import { projectPath } from './project.js'
import { type Delivery, type Receiver, receiver } from './receiver.js'
import { asRow, type Needs, type Row } from './sentence.js'

export interface ProjectEvent {
  readonly delivery: Delivery
  readonly before: Row
  readonly after: Row
}

let once: Promise<ProjectEvent | undefined> | undefined

/** What a server that makes projects sends when the federal id of one changes. */
export async function projectEvent(needs: Needs): Promise<ProjectEvent> {
  const hooks = await receiver(needs)
  once ??= changeProject(hooks)
  const event = await once
  return needs(event, 'a server that makes projects by POST /v1.5/projects and tells of changes')
}

async function changeProject(hooks: Receiver): Promise<ProjectEvent | undefined> {
  const ProjectCode = `EVT${runMark}`
  const made = await ask({
    path: '/v1.5/projects',
    json: { ProjectCode, ProjectName: 'Conformance events', WebhookUrl: hooks.url('/project') },
  })
  if (made.status !== 200 && made.status !== 201) return undefined
  const before = asRow(made.json())
  const path = projectPath(String(before.ProjectCode))
  try {
    await ask({ path, method: 'PUT', json: { San: '123456-789012-34' } })
    await ask({ path, method: 'PUT', json: { OrgId: '12345678-9012' } })
    const delivery = await hooks.delivery('/project')
    const after = await readUntilDelivered(path)
    return delivery && { delivery, before, after }
  } finally {
    await ask({
      at: 'rpc',
      path: '/app/main/rpc/project',
      form: { project_code: String(before.ProjectCode), handler: 'deactivate_project' },
    })
  }
}

/** The attempt is written down after it was made. */
async function readUntilDelivered(path: string): Promise<Row> {
  let row = asRow((await ask({ path })).json())
  for (let turn = 0; turn < 20 && asRow(row.Webhook).LastDelivery === null; turn += 1) {
    await pause(100)
    row = asRow((await ask({ path })).json())
  }
  return row
}
