import type { Command } from 'commander'
import { ApiFailure } from '../../../src/client/failures.ts'
import { send } from '../../../src/client/http.ts'
import { createClient, type Connection } from '../../../src/client/index.ts'
import { openContext, type Context } from '../../context/context.ts'
import { originOf } from '../../context/selectServer.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { changeProfile, isProfileName, readSettings } from '../../context/profiles.ts'
import { askForLine, askSecret, readStdin, readText } from '../../input/prompt.ts'
import { invitationToken } from './accept.ts'

export interface SignOptions {
  email?: string
  name?: string
  passwordStdin?: boolean
  withToken?: boolean
  invitationFile?: string
}
export interface SignedIn {
  token: string
  user?: { email: string; role: string }
}

/** Creates the first user. Prompts for missing values, and for the setup code only if the server requires it. */
export async function setup(command: Command, options: SignOptions): Promise<void> {
  const context = await openAnonymous(command)
  if ((await context.client.auth.status()).hasUsers)
    throw new Failure('conflict', 'the first user already exists', {
      hint: 'sign in with: board auth login, or create an account with: board auth register',
    })
  const email = options.email ?? (await askForLine(context, 'Email', '--email'))
  const person = { email, displayName: options.name, password: await newPassword(context, options) }
  const code = process.env.BOARD_SETUP_CODE || undefined
  const signedIn = await context.client.auth.setup({ ...person, setupCode: code }).catch(async error => {
    if (!(error instanceof ApiFailure) || error.code !== 'SETUP_CODE_REQUIRED' || code !== undefined) throw error
    return context.client.auth.setup({
      ...person,
      setupCode: await askForLine(context, 'Setup code (the server prints it at startup)', 'BOARD_SETUP_CODE'),
    })
  })
  await saveSignIn(context, signedIn)
}

/** Creates an account on a server with open registration. */
export async function register(command: Command, options: SignOptions): Promise<void> {
  const context = await openAnonymous(command)
  if (options.invitationFile === '-' && options.passwordStdin)
    throw usage('the password and the invitation cannot both come from stdin')
  const link =
    options.invitationFile === undefined ? undefined : await readText(options.invitationFile, '--invitation-file')
  const invitation = link === undefined ? undefined : invitationToken(context, link)
  const email = options.email ?? (await askForLine(context, 'Email', '--email'))
  await saveSignIn(
    context,
    await context.client.auth.register({
      email,
      displayName: options.name,
      password: await newPassword(context, options),
      invitation,
    }),
  )
}

/** Signs in with a password, or stores an existing token. */
export async function login(command: Command, options: SignOptions): Promise<void> {
  const context = await openAnonymous(command)
  if (options.withToken)
    return saveSignIn(context, await requireAccepted(context.connection, await readStdin('--with-token')))
  const email = options.email ?? (await askForLine(context, 'Email', '--email'))
  const password = options.passwordStdin
    ? await readStdin('--password-stdin')
    : await askSecret(context, 'Password', '--password-stdin')
  await saveSignIn(context, await context.client.auth.login({ email, password }))
}

/** Revokes the profile's token on the server and deletes it locally, even if the server is offline. */
export async function logout(command: Command): Promise<void> {
  const context = await openContext(command)
  const name = profileName(context)
  const profile = readSettings().profiles?.[name]
  if (!profile?.token || profile.tokenOrigin !== originOf(context.connection.url)) {
    throw new Failure('denied', `profile ${name} is not signed in to ${context.connection.url}`, {
      see: 'board auth status',
    })
  }
  if (!profile.token.startsWith('svc_ak_')) {
    await createClient({ ...context.connection, token: profile.token })
      .auth.logout()
      .catch(error => {
        if (!(error instanceof ApiFailure && error.status === 401))
          context.out.warn(`the server could not revoke the token: ${(error as Error).message}`)
      })
  }
  await changeProfile(name, { token: undefined, tokenOrigin: undefined, email: undefined })
  context.out.done(`Signed out of ${context.connection.url}.`)
}

/** Opens a context for a sign-in. It uses only the local token, which proves that this account runs the server. */
export async function openAnonymous(command: Command): Promise<Context> {
  const context = await openContext(command)
  const { token } = context.connection
  const connection = { ...context.connection, token: token?.startsWith('svc_lt_') ? token : undefined }
  profileName(context)
  return { ...context, connection, client: createClient(connection) }
}

/** Reads a new password: typed twice, or from stdin. */
export async function newPassword(context: Context, options: SignOptions): Promise<string> {
  if (options.passwordStdin) return readStdin('--password-stdin')
  const password = await askSecret(context, 'Password (at least 8 characters)', '--password-stdin')
  if ([...password].length < 8) throw usage('the password is too short', { hint: 'use at least 8 characters' })
  if (password !== (await askSecret(context, 'Repeat the password', '--password-stdin')))
    throw usage('the two passwords differ')
  return password
}

/** Verifies that the server accepts the token. An API key has no route for its identity, so any other route is called. */
async function requireAccepted(connection: Connection, token: string): Promise<SignedIn> {
  if (!/^svc_(ak|st)_\S+$/.test(token))
    throw usage('the text is not a token', { hint: 'a token starts with svc_ak_ or svc_st_' })
  if (!token.startsWith('svc_ak_')) return { token, user: await createClient({ ...connection, token }).auth.me() }
  const { status } = await send({ ...connection, token }, 'GET', '/api/external/projects/1/boards')
  if (status === 401)
    throw new Failure('denied', 'the server rejects the key', { hint: 'the key might be revoked or expired' })
  return { token }
}

/**
 * Puts the token into the profile, bound to the server's origin. The address of the local daemon is not stored, because the daemon is found
 * automatically.
 */
export async function saveSignIn(context: Context, { token, user }: SignedIn): Promise<void> {
  const { url } = context.connection
  const name = profileName(context)
  await changeProfile(
    name,
    { token, tokenOrigin: originOf(url), email: user?.email, ...(!context.selection.local && { url }) },
    context.globals.profile === undefined || readSettings().current === undefined,
  )
  context.out.done(`Signed in to ${url}${user ? ` as ${user.email} (${user.role})` : ' with an API key'}.`)
}

function profileName(context: Context): string {
  const name = context.selection.profile?.value ?? 'default'
  if (!isProfileName(name))
    throw usage(`"${name}" cannot be the name of a profile`, { hint: 'use letters, digits, dots, dashes' })
  return name
}
