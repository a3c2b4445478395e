import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { endianness } from 'node:os'
import { join } from 'node:path'
import { parse, type IPv4, type IPv6 } from 'ipaddr.js'
import { coalesce } from '../async/coalesce.ts'
import { createHolderSearch } from './socketHolder.ts'

/**
 * Whether the process at the other end of a local connection runs under the server's own account, outside of a sandbox. False if
 * that is unknown.
 */
export type IsOwnPeer = (socket: Socket) => Promise<boolean>

/**
 * The states in which the table's uid is that of the sending process; the FIN states are those of a client that has closed its
 * half. A socket without a process (TIME_WAIT, or inode 0) is listed as root's, and one that is still being opened can belong to
 * a process other than the sender of the bytes.
 */
const [established, finWait1, finWait2, closeWait] = ['01', '04', '05', '08']
const heldStates: readonly string[] = [established, finWait1, finWait2, closeWait]
/** A read of the kernel's table can miss an entry, because the table changes between the blocks that are read. */
const maxReads = 3

/** Whether the kernel's socket tables are available (Linux, `/proc/net`). */
export const hasSocketTables = (folder: string): Promise<boolean> =>
  Promise.all([ownUid(), readTable(join(folder, 'tcp'))]).then(
    ([uid, table]) => uid !== undefined && /^\s*sl\s+local_address\s/.test(table),
    () => false,
  )

/** Looks connections up in the kernel's tables, once per connection, because the other end of a connection keeps its owner. */
export function ownPeerReader(folder: string): IsOwnPeer {
  const findOwners = ownerFinder(folder)
  const isHeldOutsideSandboxes = createHolderSearch()
  let own: Promise<number | undefined> | undefined
  const known = new WeakMap<Socket, Promise<boolean>>()
  const lookUp = async (socket: Socket): Promise<boolean> => {
    const uid = await (own ??= ownUid())
    if (uid === undefined) return false
    const owners = await findOwners(socket)
    if (owners.length === 0 || owners.some(owner => owner.uid !== uid)) return false
    return (await Promise.all(owners.map(({ inode }) => isHeldOutsideSandboxes(inode, uid)))).every(Boolean)
  }
  return socket => {
    let isOwn = known.get(socket)
    if (!isOwn) known.set(socket, (isOwn = lookUp(socket).catch(() => false)))
    return isOwn
  }
}

/** Finds the account at the other end of a local connection. Undefined if unknown. Each connection is looked up once. */
export function peerUidReader(folder: string): (socket: Socket) => Promise<number | undefined> {
  const findOwners = ownerFinder(folder)
  const known = new WeakMap<Socket, Promise<number | undefined>>()
  const lookUp = async (socket: Socket) => (await findOwners(socket).catch(() => []))[0]?.uid
  return socket => {
    const uid = known.get(socket) ?? lookUp(socket)
    known.set(socket, uid)
    return uid
  }
}

/** Finds the owner of the other end of a connection. */
function ownerFinder(folder: string): (socket: Socket) => Promise<Owner[]> {
  const readTables = coalesce(() => Promise.all(['tcp', 'tcp6'].map(name => readTable(join(folder, name)))))
  return async socket => {
    const ends = endsOf(socket)
    for (let reads = 0; ends && reads < maxReads; reads++) {
      const owners = (await readTables()).flatMap(table => ownersOf(table, ends))
      if (owners.length > 0) return owners
    }
    return []
  }
}

/**
 * The server's uid. Undefined in a user namespace in which the server has the `overflowuid`: every unmapped account has that
 * number there, so it identifies no account.
 */
async function ownUid(): Promise<number | undefined> {
  const uid = process.geteuid?.()
  if (uid === undefined || process.platform !== 'linux') return uid
  const [overflow, map] = await Promise.all(
    ['/proc/sys/kernel/overflowuid', '/proc/self/uid_map'].map(path => readFile(path, 'latin1')),
  )
  return uid === Number(overflow) && !/^\s*0\s+0\s+4294967295\s*$/.test(map!) ? undefined : uid
}

/** IPv6 can be disabled, in which case its table is missing. */
const readTable = (path: string): Promise<string> =>
  readFile(path, 'latin1').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && path.endsWith('6')) return ''
    throw error
  })

/** The client's end of a connection in the format of the tables: its own address, then the server's. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string[] | undefined {
  if (!localAddress || !remoteAddress || localPort === undefined || remotePort === undefined) return undefined
  const [client, server] = [parse(remoteAddress), parse(localAddress)].map(plainAddress)
  const tableEntry = (asTable: (address: IPv4 | IPv6) => string) =>
    ` ${asTable(client!)}:${toHex(remotePort)} ${asTable(server!)}:${toHex(localPort)} `
  // An IPv4 connection can use a socket of either family.
  const isIpv4 = client!.kind() === 'ipv4' && server!.kind() === 'ipv4'
  return isIpv4
    ? [tableEntry(words), tableEntry(address => words((address as IPv4).toIPv4MappedAddress()))]
    : [tableEntry(words)]
}

const plainAddress = (address: IPv4 | IPv6): IPv4 | IPv6 =>
  address.kind() === 'ipv6' && (address as IPv6).isIPv4MappedAddress() ? (address as IPv6).toIPv4Address() : address

/** An address in the format of the tables: words of 32 bits, each in the machine's byte order. */
function words(address: IPv4 | IPv6): string {
  const bytes = Buffer.from(address.toByteArray())
  if (endianness() === 'LE') bytes.swap32()
  return bytes.toString('hex').toUpperCase()
}

const toHex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0')

interface Owner {
  uid: number
  inode: string
}

/** The owners of this end of a connection. State, uid and inode follow the addresses in a table's line. */
function ownersOf(table: string, ends: readonly string[]): Owner[] {
  const owners: Owner[] = []
  for (const end of ends)
    for (let at = table.indexOf(end); at >= 0; at = table.indexOf(end, at + 1)) {
      const [state, , , , uid, , inode] = table.slice(at + end.length, at + end.length + 200).split(/\s+/, 7)
      if (heldStates.includes(state!) && inode !== '0') owners.push({ uid: Number(uid), inode: inode! })
    }
  return owners
}
