/** A place inside a sandbox at which the server listens. */
export interface ListenAt {
  host: string
  port: number
}

/**
 * Runs inside first: listens, hands the listeners to the server over the channel at descriptor 3, and ends once the server has
 * accepted all and closed the channel. The program is text, because the sandbox contains no file of the server.
 */
const nodeProgram = `
  const { createServer } = require('node:net')
  const places = process.argv[1].split(',').map(place => place.split(' '))
  const fail = error => {
    process.stderr.write('board: ' + error.message + '\\n')
    process.exit(1)
  }
  process.on('disconnect', () => process.exit(opened === places.length ? 0 : 1))
  let opened = 0
  const open = () => {
    if (opened === places.length) return
    const [host, port] = places[opened]
    const server = createServer().on('error', fail)
    server.listen({ host, port }, () => process.send(opened++, server, error => error ? fail(error) : open()))
  }
  open()`

/**
 * The equivalent in Perl, which is part of most systems and starts in a tenth of Node's time. It writes the message of Node for a
 * handed-over server, and waits for the same responses. The numbers are Linux's (AF_INET, SOCK_STREAM, SOL_SOCKET, SO_REUSEADDR,
 * SCM_RIGHTS): loading Perl's module of sockets takes three times as long as everything else.
 */
const perlProgram = `
  use strict;
  my ($sendmsg, $places) = @ARGV;
  my ($inet, $stream, $of_socket, $reuse_address, $scm_rights) = (2, 1, 1, 2, 1);
  open(my $channel, '+<&=', 3) or die $!;
  my $opened = 0;
  for (split /,/, $places) {
    my ($host, $port) = split / /;
    my @address = $host =~ /^(\\d+)\\.(\\d+)\\.(\\d+)\\.(\\d+)$/ or die $host;
    socket(my $server, $inet, $stream, 0) or die $!;
    setsockopt($server, $of_socket, $reuse_address, 1) or die $!;
    bind($server, pack('S n C4 x8', $inet, $port, @address)) or die $!;
    listen($server, 4096) or die $!;
    my $text = '{"cmd":"NODE_HANDLE","type":"net.Server","msg":' . $opened++ . '}' . "\\n";
    my $control = pack('Q l l l x4', 20, $of_socket, $scm_rights, fileno $server);
    my $vector = pack('P Q', $text, length $text);
    my $message = pack('Q L x4 P Q P Q l x4', 0, 0, $vector, 1, $control, length $control, 0);
    syscall($sendmsg, 3, $message, 0) == length $text or die $!;
    my $answer = '';
    while ($answer !~ /NODE_HANDLE_ACK/) {
      sysread($channel, $answer, 4096, length $answer) or last;
    }
  }
  1 while sysread($channel, my $rest, 4096);`

/**
 * The number of the system call with which Perl hands over a descriptor, on platforms where a message has the layout in this
 * program.
 */
const sendmsg: Partial<Record<NodeJS.Architecture, number>> = { x64: 46, arm64: 211, riscv64: 211, loong64: 211 }

/** The shell becomes the command itself, without the channel and without an additional process. */
const script = `
  listen() { /usr/bin/env -i NODE_CHANNEL_FD=3 NODE_CHANNEL_SERIALIZATION_MODE=json "$@"; }
  { [ "$1" ] && [ -x /usr/bin/perl ] && listen /usr/bin/perl -e "$2" "$1" "$5" 2>/dev/null; } || listen "$3" -e "$4" "$5" || {
    echo 'board: the network of the sandbox could not be opened' >&2
    exit 125
  }
  shift 5
  unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE
  exec "$@" 3>&-`

/** The command that listens at these places, hands the listeners to the server, and then becomes the given command. */
export const listenBefore = (places: readonly ListenAt[], argv: readonly string[]): string[] => [
  '/bin/sh',
  '-c',
  script,
  'board-network',
  String(sendmsg[process.arch] ?? ''),
  perlProgram,
  process.execPath,
  nodeProgram,
  places.map(({ host, port }) => `${host} ${port}`).join(','),
  ...argv,
]
