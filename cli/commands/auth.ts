import { Option, type Command } from 'commander'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { login, logout, register as signUp, setup, type SignOptions } from './auth/sign.ts'
import { showStatus, printToken } from './auth/show.ts'

const passwordStdin = ['--password-stdin', 'read the password from stdin'] as const

export function register(command: Command): void {
  const verb: Verb = (name, summary) => command.command(name).summary(summary)
  registerSetup(command, verb)
  registerLogin(command, verb)
  registerSignUp(command, verb)
  registerAccount(command, verb)
  registerShow(command, verb)
}

/** Adds a verb of auth. */
type Verb = (name: string, summary: string) => Command

function registerSetup(command: Command, verb: Verb): void {
  example(
    verb('setup', 'Create the first user of a server, a super_admin, and sign in')
      .option('--email <email>', 'your email address')
      .option('--name <name>', 'your name')
      .option(...passwordStdin),
    'board auth setup',
    'board auth setup --email ada@example.com --password-stdin < password.txt',
  )
    .addHelpText(
      'after',
      '\nA server that listens beyond loopback requires the setup code that it printed at\nstartup. Set BOARD_SETUP_CODE, or enter the code when prompted.',
    )
    .action((options: SignOptions) => setup(command, options))
}

function registerLogin(command: Command, verb: Verb): void {
  example(
    verb('login', 'Sign in to a server')
      .description(
        'Sign in to a server, and store the token in the profile. --url selects a server, for example on another machine.',
      )
      .option('--email <email>', 'your email address')
      .option(...passwordStdin)
      .option('--with-token', 'read a token or an API key from stdin')
      .addOption(
        new Option('--oidc', "sign in with your browser, through the server's identity provider").conflicts([
          'email',
          'passwordStdin',
          'withToken',
        ]),
      )
      .option('--no-browser', 'with --oidc: print the address without opening it'),
    'board auth login --url https://board.example.com',
    'board auth login --oidc',
    'board auth login --profile ci --with-token < key.txt',
  ).action(async (options: SignOptions & { oidc?: boolean; browser: boolean }) => {
    if (!options.oidc && !options.browser) throw usage('--no-browser requires --oidc')
    await (options.oidc
      ? (await import('./auth/oidc.ts')).loginOidc(command, options.browser)
      : login(command, options))
  })
}

function registerSignUp(command: Command, verb: Verb): void {
  example(
    verb('register', 'Create an account and sign in')
      .option('--email <email>', 'your email address')
      .option('--name <name>', 'your name')
      .option(...passwordStdin)
      .option('--invitation-file <file>', 'file with an invitation link to accept, or - for stdin'),
    'board auth register --email ada@example.com',
    'board auth register --email ada@example.com --invitation-file link.txt',
  ).action((options: SignOptions) => signUp(command, options))

  prints(
    example(
      verb('accept', 'Accept an invitation to a project')
        .description(
          'Accept an invitation to a project with its link. The command prompts for the link, or reads it from a file.',
        )
        .option('--invitation-file <file>', 'file with the invitation link, or - for stdin'),
      'board auth accept',
      'board auth accept --invitation-file link.txt',
    ),
    'projects.get',
  ).action(async (options: { invitationFile?: string }) =>
    (await import('./auth/accept.ts')).acceptInvitation(command, options),
  )
}

function registerAccount(command: Command, verb: Verb): void {
  example(
    verb('password', 'Change your password')
      .description('Change your password, and end all other sign-ins of your account. API keys remain valid.')
      .option('--password-stdin', 'read the current and the new password from stdin, on two lines'),
    'board auth password',
    'board auth password --password-stdin < passwords.txt',
  ).action(async (options: { passwordStdin?: boolean }) =>
    (await import('./auth/account.ts')).changePassword(command, options),
  )

  prints(
    example(
      verb('sessions', 'List where you are signed in, or end a sign-in').option(
        '--end <id>',
        'end this sign-in; its clients are signed out immediately',
      ),
      'board auth sessions',
      'board auth sessions --end 12',
    ),
    'auth.sessions',
  ).action(async (options: { end?: string }) => (await import('./auth/account.ts')).listOrEndSignIns(command, options))
}

function registerShow(command: Command, verb: Verb): void {
  example(
    verb('logout', 'Revoke the token of the profile and delete it'),
    'board auth logout',
    'board auth logout --profile work',
  ).action(() => logout(command))

  prints(
    example(
      verb('status', 'Show the server, your account and the source of each value').option(
        '--exit-status',
        'exit with 4 if you are not signed in',
      ),
      'board auth status',
      'board auth status --exit-status -q && echo signed in',
    ),
    null,
    'url urlFrom profile profileFrom tokenKind tokenFrom project projectFrom signedIn email role authEnabled hasUsers',
  ).action((options: { exitStatus?: boolean }) => showStatus(command, options))

  example(
    verb('token', 'Print the token that would be sent'),
    'curl -H "Authorization: Bearer $(board auth token)" "$BOARD_URL/api/projects"',
  ).action(() => printToken(command))
}
