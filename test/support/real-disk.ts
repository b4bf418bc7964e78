/** File systems on loop devices that can be filled, or fail as the kernel lets them fail. Only root can make them. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, mkdirSync, statfsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { until } from '../e2e/asterisk/lab/until.js'

export interface RealDisk {
  /** Where it is mounted. */
  readonly folder: string
  /** Until {@link RealDisk.free}. */
  fill(): void
  free(): void
  /** As if its cable were pulled: nothing is read or written anymore, and what was not flushed is lost. */
  shutDown(): void
  /** As ext4 does after an error. By hand, the kernel refuses it while a file is open for writing. */
  makeReadOnly(): void
  /** Waits until nobody has a file of it open. */
  mountAgain(): Promise<void>
  remove(): Promise<void>
}

/** Why there can be none on this machine. */
export function findWhyNoDisk(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root can mount disks'
  const folders = (process.env.PATH ?? '').split(':')
  const missing = ['mkfs.ext4', 'losetup', 'fallocate', 'findmnt', 'perl'].filter(
    (name) => !folders.some((folder) => existsSync(join(folder, name))),
  )
  if (missing.length > 0) return `there is no ${missing.join(', ')}`
  try {
    accessSync('/dev/loop-control', constants.R_OK | constants.W_OK)
    return undefined
  } catch {
    return 'there are no loop devices'
  }
}

const megabytes = 64
/** The loop device goes with the mount. */
const mount = 'mount -o loop,errors=remount-ro "$1" "$2"'

const shell = (script: string, ...args: readonly string[]) =>
  execFileSync('sh', ['-ec', script, 'sh', ...args], { encoding: 'utf8' })

export async function openRealDisk(within: string, name: string): Promise<RealDisk> {
  const folder = join(within, name)
  const image = `${folder}.img`
  const filler = join(folder, 'filler')
  mkdirSync(folder)
  shell(`truncate -s ${megabytes}M "$1" && mkfs.ext4 -q -m 0 -b 4096 "$1"`, image)
  // It outlives this process, however that ends, and then takes the disk away.
  const guard = spawn(
    'sh',
    ['-c', `${mount} && echo && cat; umount -l "$2"`, 'sh', image, folder],
    {
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  await once(guard.stdout, 'data')
  return {
    folder,
    fill() {
      const { bavail, bsize } = statfsSync(folder)
      const script =
        'fallocate -l "$2" "$1" 2> /dev/null || :; cat /dev/zero > "$1.rest" 2> /dev/null || :'
      shell(script, filler, String(bavail * bsize))
    },
    free: () => void shell('rm "$1" "$1.rest"', filler),
    // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
    shutDown: () =>
      void shell(
        `perl -e 'sysopen(my $disk, $ARGV[0], 0) or die $!; my $how = pack("L", 2);
          ioctl($disk, 0x8004587d, $how) or die $!' "$1"`,
        folder,
      ),
    makeReadOnly() {
      const device = basename(shell('findmnt -no SOURCE "$1"', folder).trim())
      shell('echo test > "$1"', `/sys/fs/ext4/${device}/trigger_fs_error`)
    },
    async mountAgain() {
      await until('it is unmounted', () => shell('umount "$1" 2> /dev/null', folder) === '')
      shell(mount, image, folder)
    },
    async remove() {
      guard.stdin.end()
      if (guard.exitCode === null) await once(guard, 'exit')
    },
  }
}
