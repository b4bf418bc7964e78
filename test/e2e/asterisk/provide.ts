/** Before the first test: every program that the tests need. The run fails where one cannot be had. */
import { asteriskVersions, provideAsterisk, provideKamailio } from './lab/provided-asterisk.js'

export async function setup(): Promise<void> {
  await Promise.all([
    ...asteriskVersions.map((version) => provideAsterisk(version)),
    provideKamailio(),
  ])
}
