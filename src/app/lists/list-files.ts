/** The lists that servers of one PostgreSQL database share: where their files are, and which versions are in force. */
import { readFirstLine, readKeyFile } from '../../config/secret-file.js'
import type { Settings } from '../../config/settings.js'
import { FolderFiles } from '../../data/number-list/exchange/folder-files.js'
import type { ListFiles } from '../../data/number-list/exchange/list-files.js'
import { S3Files } from '../../data/number-list/exchange/s3-files.js'
import { ServerFiles } from '../../data/number-list/exchange/server-files.js'
import type { ListInForce } from '../../data/number-list/list-store.js'
import {
  describeNumberingInForce,
  isNumberingFileName,
} from '../../data/numbering/published-numbering.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { PublishedList } from '../../storage/cluster/list-versions.js'
import type { Db } from '../../storage/tables.js'
import { getNumberingFolder } from '../data-folders.js'
import type { ReferenceData } from '../service.js'

/** `undefined` where each server imports its own lists. Throws {@link DataFileError} for a key that cannot be read. */
export function openListFiles({
  storage,
  edge,
  lists: { files },
}: Pick<Settings, 'storage' | 'edge' | 'lists'>): ListFiles | undefined {
  if (storage.engine === 'sqlite' && edge.centers.length === 0) return undefined
  const { folder, s3 } = files
  const { servers, loginIdFile } =
    files.servers.length > 0 ? files : { servers: edge.centers, loginIdFile: edge.loginIdFile }
  if (folder !== undefined) return new FolderFiles(folder)
  const { url, region, accessKeyId, secretAccessKeyFile } = s3
  if (url !== undefined && accessKeyId !== undefined && secretAccessKeyFile !== undefined) {
    const setting = 'lists.files.s3.secretAccessKeyFile'
    const secretAccessKey = readFirstLine(secretAccessKeyFile, setting)
    return new S3Files({ url, region, accessKeyId, secretAccessKey })
  }
  if (loginIdFile === undefined || servers.length === 0) return undefined
  const readKey = () => readKeyFile(loginIdFile, 'lists.files.loginIdFile')
  readKey()
  return new ServerFiles({ urls: servers, readKey })
}

/** Those in force on all servers; none where each server imports its own. */
export async function readPublishedLists(
  settings: Pick<Settings, 'storage' | 'edge' | 'lists'>,
  db: Db,
): Promise<readonly ListInForce[]> {
  if (settings.storage.engine === 'sqlite') return []
  const { readListsInForce } = await import('../../storage/cluster/list-versions.js')
  const place = openListFiles(settings)?.place
  return (await readListsInForce(db)).map((list) => toListInForce(list, place))
}

/** Nothing else is used from now on. */
export function putInForce(
  versions: readonly PublishedList[],
  {
    data: { lists, plan },
    settings,
    place,
    needed,
  }: {
    readonly data: Pick<ReferenceData, 'lists' | 'plan'>
    readonly settings: Settings
    readonly place: string | undefined
    /** Lists that calls need, although they are not here. */
    readonly needed: readonly string[]
  },
): void {
  const folder = getNumberingFolder(settings)
  const numbering = versions.flatMap((version) => {
    const { name, sha256 } = version
    if (!isNumberingFileName(name)) return []
    const { whenMissing } = toListInForce(version, place)
    return [describeNumberingInForce(folder, name, { sha256, whenMissing })]
  })
  plan.setInForce(new Map(numbering))
  const ofLists = versions.filter(({ name }) => !isNumberingFileName(name))
  lists.setInForce(
    ofLists.map((list) => toListInForce(list, place)),
    needed,
  )
}

export function toListInForce(
  { name, version, asOf, publishedAt, publishedBy }: PublishedList,
  place: string | undefined,
): ListInForce {
  const published = `published ${formatInstant(publishedAt)} by ${publishedBy}`
  const fetching =
    place === undefined
      ? 'set lists.files to where the server that imported it puts the file'
      : `it is being fetched from ${place}`
  const whenMissing =
    `version ${version} as of ${formatInstant(asOf)} (${published}) is in force, ` +
    `and this server does not have it; ${fetching}`
  return { name, version, whenMissing }
}
