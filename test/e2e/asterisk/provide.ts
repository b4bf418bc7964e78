/** Before the first test: every Asterisk that the tests need. The run fails where one cannot be had. */
import { asteriskVersions, provideAsterisk } from './lab/provided-asterisk.js'

export async function setup(): Promise<void> {
  await Promise.all(asteriskVersions.map((version) => provideAsterisk(version)))
}
