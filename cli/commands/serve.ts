import type { Command } from 'commander'
import { openOwnPage } from '../browser/openPage.ts'
import { globalsOf } from '../parsing/globals.ts'
import { drawRows, example } from '../help/help.ts'
import { createOutput } from '../output/createOutput.ts'
import { programsOf } from '../programs.ts'
import { addAgents, addLimits, addListening, addUpkeep } from '../server/serveOptions.ts'
import { explainStart, requireCertificate } from '../server/startFailure.ts'
import type { ServeOptions } from '../../src/config/serverProgram.ts'

interface Flags {
  host?: string
  port?: number
  https?: boolean
  cert?: string
  key?: string
  qr?: boolean
  dataDir?: string
  worktreeRoot?: string
  prices?: string
  publicUrl?: string
  allowHost?: string[]
  trustProxy?: boolean
  setupCode?: string
  projectRoot?: string[]
  maxAttachment?: number
  maxImport?: number
  agentSlots?: number
  agentRequestsPerMinute?: number
  agentSilence?: number
  sandbox?: 'auto' | 'require' | 'off'
  sandboxCommand?: string
  allowPrivateWebhooks?: boolean
  backupEvery?: string
  backupKeep?: number
  browseRoot?: string
  logLevel?: 'error' | 'warn' | 'info'
  logFormat?: 'json' | 'pretty'
  open?: boolean
  database?: string
  machine?: string
  advertise?: string
}

export function register(command: Command): void {
  command.description(
    'Run a server in the foreground until it receives SIGTERM or SIGINT. It then finishes its current requests. For HTTPS behind a proxy such as nginx, see: board help proxy.',
  )
  addListening(command)
  addLimits(command)
  addAgents(command)
  addUpkeep(command)
  command.addHelpText('after', () => `\nSet secrets only in the environment:\n${drawRows(command, serverSecrets)}`)
  example(
    command,
    'board serve',
    'board serve --port 0 --data-dir ./data',
    'board serve --host 0.0.0.0 --public-url https://board.example.com',
    'board serve --host 0.0.0.0 --cert board.pem --key board.key --public-url https://board.example.com:4400 --qr',
    'board serve --backup-every 6h --backup-keep 28',
    'board serve --database ws://db.example.com:8080 --machine build-1',
  ).action((flags: Flags) => serve(command, flags))
}

/** Environment variables with secrets of the server, and their meanings. */
export const serverSecrets = {
  BOARD_SECRET_KEY:
    'Key that encrypts secrets in the database: 32 bytes in base64 or hexadecimal, for example from openssl rand -base64 32 (default: secret.key in the data folder)',
  BOARD_DATABASE_TOKEN: 'Token of the libSQL server of --database',
  BOARD_TLS_PASSPHRASE: 'Passphrase of the file of --key',
  'BOARD_OAUTH_<PROVIDER>_CLIENT_ID':
    'ID of the OAuth client of GITHUB, GOOGLE or CUSTOM for board credentials add --oauth. The provider might also require ..._CLIENT_SECRET and ..._SCOPE',
}

async function serve(command: Command, flags: Flags): Promise<void> {
  const { allowHost, projectRoot, maxAttachment, maxImport, agentSilence, prices, open, qr, https: _, ...rest } = flags
  requireCertificate(flags)
  const options: ServeOptions = {
    ...rest,
    allowHosts: allowHost,
    projectRoots: projectRoot,
    maxAttachmentBytes: maxAttachment,
    maxImportBytes: maxImport,
    pricesFile: prices,
    agentSilenceMs: agentSilence === undefined ? undefined : agentSilence * 1000,
  }
  const { out } = createOutput(globalsOf(command))
  const { runServe } = await programsOf(command).server()
  const url = await runServe(options, out.terminal.stdout).catch(error => {
    throw explainStart(error, flags)
  })
  if (qr) await (await import('../server/qrCode.ts')).drawAddress(out, { ...flags, url })
  if (open) await openOwnPage(out, flags.dataDir)
}
