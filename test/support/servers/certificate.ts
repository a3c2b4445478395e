import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reportSkipped } from '../run/reportSkipped.ts'

/** The reason why this machine cannot create a certificate, if so: Node has no function for it. */
export const noOpenssl: string | undefined =
  spawnSync('openssl', ['version']).status === 0 ? undefined : 'there is no openssl'
if (noOpenssl !== undefined) reportSkipped('Tests of HTTPS', noOpenssl)

/** The files of a self-signed certificate. */
export interface TestCertificate {
  cert: string
  key: string
  fingerprint: string
}

/** Creates a certificate for these names (`DNS:localhost`, `IP:127.0.0.1`). With a passphrase its key is encrypted. */
export function makeCertificate(folder: string, names: readonly string[], passphrase?: string): TestCertificate {
  mkdirSync(folder, { recursive: true })
  const [cert, key] = [join(folder, 'board.pem'), join(folder, 'board.key')]
  const { status, stderr } = spawnSync(
    'openssl',
    // oxfmt-ignore
    [
      'req',
      '-x509',
      '-newkey', 'rsa:2048', '-days', '2', '-subj', '/CN=board', '-addext', `subjectAltName=${names.join(',')}`,
      ...(passphrase === undefined ? ['-nodes'] : ['-passout', `pass:${passphrase}`]),
      '-keyout', key, '-out', cert,
    ],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`openssl ended with ${status}: ${stderr}`)
  return { cert, key, fingerprint: new X509Certificate(readFileSync(cert)).fingerprint256 }
}
