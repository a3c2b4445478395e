import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The leftovers of ended sessions: mounts, sockets of their networks, folders of their files, locks of the repository. An empty list
 * if there are none.
 */
export function findLeftovers(dataDir: string, repository: string, serverPid: number): string[] {
  const names = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder).map(String) : [])
  const below = (folder: string): string[] =>
    existsSync(folder) ? readdirSync(folder, { recursive: true }).map(name => join(folder, String(name))) : []
  const git = join(repository, '.git')
  return [
    ...readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .filter(line => line.includes(dataDir) || line.includes(repository)),
    ...socketsOfOtherNetworks(serverPid),
    ...names(join(dataDir, 'agents', 'none', 'tmp')).filter(name => name.startsWith('board-')),
    // Locks in the separate index of a killed agent do not count.
    ...below(git).filter(path => path.endsWith('.lock') && !path.startsWith(join(git, 'board'))),
  ]
}

/** The sockets of a process that its own network does not list. */
function socketsOfOtherNetworks(pid: number): string[] {
  const known = ['tcp', 'tcp6', 'udp', 'udp6', 'unix']
    .map(name => readFileSync(`/proc/${pid}/net/${name}`, 'utf8'))
    .join()
  return readdirSync(`/proc/${pid}/fd`).flatMap(file => {
    try {
      const name = readlinkSync(`/proc/${pid}/fd/${file}`)
      const inode = /^socket:\[(\d+)\]$/.exec(name)?.[1]
      return inode === undefined || new RegExp(`\\b${inode}\\b`).test(known) ? [] : [name]
    } catch {
      return []
    }
  })
}
