import { X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import type { Server } from 'node:https'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { reachableAddress, type CertificateFiles, type ServerConfig } from '../../src/config/server.ts'
import { isLoopbackHost } from '../../src/contract/networkHosts.ts'
import { causeOf } from '../../src/config/log.ts'
import { Problem } from '../../src/contract/errors.ts'
import type { Log } from './stderrLog.ts'

const pollMs = 2000

/** A certificate with its key, ready to be served. */
export interface Certificate {
  options: SecureContextOptions
  /** The server's own certificate as PEM, without the certificates of its authorities. */
  pem: string
  coversHost(host: string): boolean
}

/**
 * Reads a certificate and its key, and checks that they belong together.
 * @throws Problem BAD_REQUEST that names the file
 */
export async function readCertificate({ cert, key, passphrase }: CertificateFiles): Promise<Certificate> {
  const [chain, privateKey] = await Promise.all([readPem('certificate', cert), readPem('key', key)])
  const options = { cert: chain, key: privateKey, passphrase, minVersion: 'TLSv1.2' } as const
  let own: X509Certificate
  try {
    own = new X509Certificate(chain)
    createSecureContext(options)
  } catch (error) {
    throw new Problem(
      'BAD_REQUEST',
      `The certificate ${cert} with the key ${key} cannot be used: ${reasonOf(error, /ENCRYPTED/.test(privateKey) && !passphrase)}.`,
    )
  }
  return {
    options,
    pem: own.toString(),
    coversHost: host => (isIP(host) ? own.checkIP(host) : own.checkHost(host)) !== undefined,
  }
}

const readPem = (what: string, path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Problem('BAD_REQUEST', `The ${what} ${path} cannot be read (${error.code}).`)
  })

/**
 * @param isClosed whether the key requires a passphrase and has none. Decryption without one occasionally appears to succeed at
 * first
 */
function reasonOf(error: unknown, isClosed: boolean): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') return 'the certificate and the key do not match'
  if (code === 'ERR_OSSL_PEM_NO_START_LINE') return 'the certificate or the key is not a PEM file'
  if (isClosed || code === 'ERR_OSSL_BAD_DECRYPT' || /passphrase|password/i.test(message))
    return 'the key requires its passphrase in BOARD_TLS_PASSPHRASE'
  return message
}

/**
 * The server's address with a name from the certificate: `host`, localhost or an allowed host. For users, and for programs
 * that the server starts. If the certificate has none of these names, returns the public URL. Undefined without one.
 */
export function namedUrl(
  { coversHost: names }: Certificate,
  { host, publicUrl, allowHosts }: ServerConfig,
  port: number,
): string | undefined {
  const isHere = isLoopbackHost(host) || reachableAddress(host) !== host
  const candidates = [
    reachableAddress(host),
    ...(isHere ? ['localhost'] : []),
    ...allowHosts.filter(name => !/[*:]/.test(name)),
  ]
  const name = candidates.find(each => names(each.replace(/^\[|\]$/g, '')))
  return name === undefined ? publicUrl?.replace(/\/$/, '') : `https://${name}:${port}`
}

/** Reloads the certificate when its files are replaced. Polls the files, because watching a path misses a replaced link. */
export function followCertificate(
  server: Server,
  files: CertificateFiles,
  log: Log,
  onChange: (certificate: Certificate) => void,
): void {
  let known: string | undefined
  let failed: string | undefined
  const check = async () => {
    const seen = await stampOf(files)
    known ??= seen
    if (seen === known || seen === '') return
    try {
      const certificate = await readCertificate(files)
      server.setSecureContext(certificate.options)
      known = seen
      onChange(certificate)
      log('info', 'A new certificate is served.', { cert: files.cert })
    } catch (error) {
      // The second of two files might still be in progress: a failure is retried once.
      if (failed === seen) {
        known = seen
        log('warn', 'The new certificate cannot be used: the previous one is still in use.', { cause: causeOf(error) })
      }
      failed = seen
    }
  }
  let checking: Promise<void> | undefined
  const checkOnce = () => {
    checking ??= check().finally(() => {
      checking = undefined
    })
  }
  checkOnce()
  const timer = setInterval(checkOnce, pollMs).unref()
  server.once('close', () => clearInterval(timer))
}

/** A stamp that changes when one of the files is written or replaced. Empty while one of them is missing. */
const stampOf = ({ cert, key }: CertificateFiles): Promise<string> =>
  Promise.all([cert, key].map(path => stat(path, { bigint: true }))).then(
    stats => stats.map(({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`).join(', '),
    () => '',
  )
