/** Makes archives in memory, so that no binary file has to be kept beside the tests. */
import { crc32, deflateRawSync } from 'node:zlib'

interface Member {
  readonly name: string
  readonly content: string | Buffer
  /** Stored as it is, not compressed. */
  readonly stored?: boolean
  /** Marked as encrypted. */
  readonly encrypted?: boolean
}

export function zipBytes(members: readonly Member[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const member of members) {
    const name = Buffer.from(member.name)
    const content = Buffer.from(member.content)
    const data = member.stored ? content : deflateRawSync(content)
    const shared = Buffer.alloc(26)
    shared.writeUInt16LE(20, 0)
    shared.writeUInt16LE(member.encrypted ? 1 : 0, 2)
    shared.writeUInt16LE(member.stored ? 0 : 8, 4)
    shared.writeUInt32LE(crc32(content), 10)
    shared.writeUInt32LE(data.length, 14)
    shared.writeUInt32LE(content.length, 18)
    shared.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), shared, name, data])
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    directory.push(
      Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.of(20, 0), shared, place, name]),
    )
    locals.push(local)
    offset += local.length
  }
  const directoryBytes = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06')
  end.writeUInt16LE(members.length, 8)
  end.writeUInt16LE(members.length, 10)
  end.writeUInt32LE(directoryBytes.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...locals, directoryBytes, end])
}
