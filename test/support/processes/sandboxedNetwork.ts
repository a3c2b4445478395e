import { readFileSync } from 'node:fs'
import { connect, isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Lookup } from '../../../src/config/server.ts'
import { createGuardedConnect } from '../../../src/egress/guardedConnect.ts'
import { createProcessTrees } from '../../../src/process/spawn.ts'
import {
  openSandboxNetwork,
  type SandboxNetwork,
  type SandboxNetworkOptions,
} from '../../../src/sandbox/network/sandboxNetwork.ts'
import { inNamespaces } from './bubblewrap.ts'
import { environment, openStore } from './trees.ts'

/** Host names and their addresses: each list is one DNS response, and the last one is repeated. */
export type NameServer = Record<string, string[][]>

/** Sandboxes with a network, and an Internet of names whose public addresses are ports of this machine. */
export interface SandboxedNetworks {
  /** The names that were looked up. */
  lookups: string[]
  open(options: Partial<SandboxNetworkOptions>): SandboxNetwork
  /** Runs a command inside, and returns its output. */
  run(
    network: SandboxNetwork,
    argv: readonly string[],
    input?: string,
    options?: { wall?: Wall },
  ): Promise<{ output: string; errors: string; code: number | null }>
  /** Sends bytes over one connection each, from inside, and returns the responses. */
  send(network: SandboxNetwork, sent: readonly Sent[]): Promise<string[]>
  close(): Promise<void>
}
export interface Sent {
  host?: string
  port: number
  text: string
}

const client = readFileSync(new URL('../../fixtures/rawClient.mjs', import.meta.url), 'utf8')

export const namespaces = ['--unshare-user', '--unshare-pid', '--unshare-net', '--disable-userns']
/** The command that runs another one with a separate network. */
type Wall = (argv: string[]) => string[] | Promise<string[]>
const unshareNetwork: Wall = argv => inNamespaces(namespaces, argv)

/** @param internetPort the loopback port to which connections to any name lead */
export async function openSandboxedNetworks(
  base: Pick<SandboxNetworkOptions, 'boardUrl' | 'acceptForBoard'>,
  names: NameServer,
  internetPort: number,
): Promise<SandboxedNetworks> {
  const store = await openStore()
  const trees = createProcessTrees(store.db)
  const lookups: string[] = []
  const guarded = createGuardedConnect(fakeLookup(names, lookups), fakeDial(internetPort))
  const run: SandboxedNetworks['run'] = async (network, argv, input = '', { wall = unshareNetwork } = {}) => {
    const child = await trees.spawn({
      command: await wall(network.wrap(argv)),
      cwd: '/',
      env: { ...environment, ...network.env },
      stdin: 'pipe',
      kind: 'agent',
      withChannel: network.attach,
    })
    child.stdin.end(input)
    const [output, errors, { code }] = await Promise.all([text(child.stdout), text(child.stderr), child.exited])
    await child.stop()
    return { output, errors, code }
  }
  return {
    lookups,
    run,
    open: options =>
      openSandboxNetwork({
        network: 'listed',
        allowed: [],
        trusted: [],
        connect: guarded,
        howToAllow: entry => `Allow "${entry}".`,
        ...base,
        ...options,
      }),
    send: async (network, sent) => {
      const asked = sent.map(each => ({ host: '127.0.0.1', ...each }))
      const { output, errors } = await run(
        network,
        [process.execPath, '--input-type=module', '-e', client],
        JSON.stringify(asked),
      )
      if (errors) throw new Error(errors)
      return JSON.parse(output) as string[]
    },
    close: store.close,
  }
}

const fakeLookup =
  (names: NameServer, lookups: string[]): Lookup =>
  (name, _, callback) => {
    lookups.push(name)
    const answers = names[name] ?? []
    const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? []
    const found = addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    setImmediate(() =>
      found.length > 0 ? callback(null, found) : callback(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []),
    )
  }

/** Resolves a name like the system would, and connects to a port of this machine instead. */
const fakeDial =
  (internetPort: number) =>
  ({ host = '', port, lookup, ...options }: TcpNetConnectOpts): Socket => {
    const find: LookupFunction = (name, asked, callback) =>
      lookup!(name, asked, error => {
        if (error) callback(error, '')
        else if (asked.all) callback(null, [{ address: '127.0.0.1', family: 4 }])
        else callback(null, '127.0.0.1', 4)
      })
    return connect({ ...options, host, port: isIP(host) ? port : internetPort, lookup: find })
  }
