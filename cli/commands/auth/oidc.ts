import type { Command } from 'commander'
import { createHash, randomBytes } from 'node:crypto'
import { contract } from '../../../src/contract/index.ts'
import { openBrowser } from '../../browser/openBrowser.ts'
import type { Context } from '../../context/context.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { listenOnLoopback, type Loopback, type Visit } from '../../browser/loopbackPage.ts'
import { writeStderr } from '../../output/streams.ts'
import { escapeControls } from '../../output/text.ts'
import { saveSignIn, openAnonymous, type SignedIn } from './sign.ts'

const usualWaitSecs = 300

/**
 * Signs in with a browser. This machine receives only a one-time code. The code is useless without the verifier, which the
 * program sends only to the server.
 */
export async function loginOidc(command: Command, openIt: boolean): Promise<void> {
  const context = await openAnonymous(command)
  if (context.globals.input === false) throw usage('--oidc requires a browser', { hint: 'use --with-token instead' })
  if (!(await context.client.auth.status()).oidcEnabled)
    throw new Failure('conflict', 'this server has no single sign-on', {
      hint: 'sign in with: board auth login',
      see: 'board settings oidc --help',
    })
  const loopback = await listenOnLoopback()
  try {
    await saveSignIn(context, await signIn(context, loopback, openIt))
  } finally {
    loopback.close()
  }
}

async function signIn(context: Context, loopback: Loopback, openIt: boolean): Promise<SignedIn> {
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  await showAddress(
    `${context.connection.url}${contract.oidc.login.path}?${new URLSearchParams({ loopback: loopback.url, challenge })}`,
    openIt,
  )
  const { query, answer } = await inTime(loopback.visit, context.globals.timeout ?? usualWaitSecs)
  try {
    const signedIn = await exchangeCode(context, query, verifier)
    await answer('You are signed in', 'You can close this page and go back to the terminal.')
    return signedIn
  } catch (error) {
    await answer('You are not signed in', 'For the reason, see the terminal. You can close this page.')
    throw error
  }
}

/** Always prints the address, because this program might not be able to open the right browser. */
async function showAddress(url: string, openIt: boolean): Promise<void> {
  const isOpen = openIt && (await openBrowser(url))
  writeStderr(
    `${isOpen ? 'Your browser opens to sign in. If it does not, open:' : 'To sign in, open in a browser on this machine:'}\n  ${escapeControls(url)}\n`,
  )
}

async function exchangeCode({ client }: Context, query: URLSearchParams, verifier: string): Promise<SignedIn> {
  const code = query.get('code')
  if (code !== null) return client.oidc.exchange({ code, verifier })
  const message = (query.get('message') ?? 'the server refused the sign-in').slice(0, 500).replace(/\.$/, '')
  throw new Failure(query.get('error') === 'PROVIDER_UNAVAILABLE' ? 'unreachable' : 'denied', message)
}

function inTime(visit: Promise<Visit>, secs: number): Promise<Visit> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () =>
        reject(
          new Failure(
            'timedOut',
            `the sign-in did not finish within ${secs === usualWaitSecs ? '5 minutes' : `${secs} s`}`,
            {
              hint: 'start again with: board auth login --oidc',
            },
          ),
        ),
      secs * 1000,
    )
    void visit.then(resolve).finally(() => clearTimeout(timer))
  })
}
