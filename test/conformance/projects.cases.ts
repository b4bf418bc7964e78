import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { ask } from './support/client.js'
import { project, projectCode, projectPath } from './support/project.js'
import { run } from './support/run.js'
import { section, sentence, sentences } from './support/sentence.js'

section('projects', () => {
  sentence('response 200 is a project', async (needs) => {
    expect(await project(needs)).toMatchObject({ ProjectCode: await projectCode(needs) })
  })

  sentences(
    [null, wrongKey],
    (key) => `401 for ${key === null ? 'a missing' : 'an invalid'} key`,
    async (key) => expect((await ask({ path: projectPath('ANY'), key })).status).toBe(401),
  )

  sentences(
    ['NO-SUCH-CODE', 'no such', "'; drop table projects; --", 'x'.repeat(300), '%'],
    (code) => `404 for a code that no project of the account has: ${code.slice(0, 30)}`,
    async (code) => expect((await ask({ path: projectPath(code) })).status).toBe(404),
  )

  sentence('404 for a project of another account', async (needs) => {
    const key = needs(run.secondLoginId, '--second-login-id')
    expect((await ask({ path: projectPath(await projectCode(needs)), key })).status).toBe(404)
  })

  sentence('it may be polled: two answers tell the same', async (needs) => {
    expect(await project(needs)).toEqual(await project(needs))
  })
})
