import type { Server, Socket } from 'node:net'

const maxChannels = 128
const answerTimeoutMs = 10_000
/** The response of the program inside when it has reached the port. */
const reached = 1

/**
 * Runs inside, next to the command, and keeps some connections to the server open. The first byte on a connection selects a port
 * of the list. The program responds once that port accepts a connection, and then joins the two. It has no more access than the
 * command itself.
 */
const program = `
  const { connect } = require('node:net')
  const [server, ...ports] = process.argv.slice(1).map(Number)
  const ignore = () => {}
  const join = (channel, port, hosts) => {
    if (hosts.length === 0) return channel.destroy()
    const local = connect({ host: hosts[0], port, allowHalfOpen: true })
    local.once('error', () => join(channel, port, hosts.slice(1)))
    local.once('connect', () => {
      local.on('error', () => channel.destroy())
      channel.on('close', () => local.destroy())
      local.on('close', () => channel.destroy())
      channel.write(Buffer.from([${reached}]))
      channel.pipe(local).pipe(channel)
    })
  }
  const wait = () => {
    let isTaken = false
    const channel = connect({ host: '127.0.0.1', port: server, allowHalfOpen: true })
    channel.on('error', ignore)
    channel.once('data', bytes => {
      isTaken = true
      wait()
      channel.pause()
      if (bytes.length > 1) channel.unshift(bytes.subarray(1))
      join(channel, ports[bytes[0]], ['127.0.0.1', '::1'])
    })
    channel.once('end', () => isTaken || channel.destroy())
    channel.once('close', () => isTaken || setTimeout(wait, 200))
  }
  for (let count = 0; count < 8; count++) wait()`

/** The command with the program next to it, which connects to the server on the first port and inside to the others. */
export const withRelay = (serverPort: number, ports: readonly number[], argv: readonly string[]): string[] => [
  '/bin/sh',
  '-c',
  '/usr/bin/env -i "$1" -e "$2" $3 </dev/null >/dev/null 2>&1 & shift 3; exec "$@"',
  'board-relay',
  process.execPath,
  program,
  [serverPort, ...ports].join(' '),
  ...argv,
]

/**
 * Forwards connections of the server into a sandbox, to the ports that its program received. Programs inside cannot use it to connect to
 * the outside.
 */
export interface InboundRelay {
  /**
   * Accepts the connections of the program inside. Any other process that connects inside gets the same access as the command.
   */
  attach(listener: Server): Server
  /** A connection to the port at this index of the list. @throws Error if nothing accepts it within 10 seconds */
  connect(index: number): Promise<Socket>
}

export function createInboundRelay(): InboundRelay {
  /** Each connection, with the function that ends it if it sends data too early. */
  const waiting = new Map<Socket, () => void>()
  const wanted = new Set<(channel: Socket) => void>()
  const add = (channel: Socket) => {
    channel.on('error', () => channel.destroy())
    const [next] = wanted
    if (next) return next(channel)
    const refuse = () => channel.destroy()
    channel.once('data', refuse).once('end', refuse)
    channel.once('close', () => waiting.delete(channel))
    waiting.set(channel, refuse)
  }
  const takeConnection = async (): Promise<Socket> => {
    const [first] = waiting
    if (!first) return nextOf(wanted)
    const [channel, refuse] = first
    waiting.delete(channel)
    return channel.off('data', refuse).off('end', refuse)
  }
  return {
    attach: listener => {
      listener.maxConnections = maxChannels
      return listener.on('connection', add)
    },
    connect: async index => {
      const channel = await takeConnection()
      channel.write(Buffer.from([index]))
      await untilAnswered(channel)
      return channel
    },
  }
}

const nextOf = (wanted: Set<(channel: Socket) => void>): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      wanted.delete(take)
      reject(new Error('No program inside accepts connections.'))
    }, answerTimeoutMs).unref()
    const take = (channel: Socket) => {
      clearTimeout(late)
      wanted.delete(take)
      resolve(channel)
    }
    wanted.add(take)
  })

/** Waits for the first byte of the program, and leaves the following bytes unread. */
const untilAnswered = (channel: Socket): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (error?: Error) => {
      channel.off('data', read).off('close', fail).off('end', fail).setTimeout(0)
      if (!error) return resolve()
      channel.destroy()
      reject(error)
    }
    const fail = () => end(new Error('No program accepts connections at this port.'))
    const read = (bytes: Buffer) => {
      channel.pause()
      if (bytes[0] !== reached) return fail()
      if (bytes.length > 1) channel.unshift(bytes.subarray(1))
      end()
    }
    channel.on('data', read).once('close', fail).once('end', fail)
    channel.setTimeout(answerTimeoutMs, fail)
    channel.resume()
  })
