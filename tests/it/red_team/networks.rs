//! Talks to the outside: TCP, UDP, DNS, sockets of the machine.

use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::attack;
use super::cell::{Cell, succeeds};

/// Whether somebody has called.
trait Calls {
    /// Whether a caller, or a message, is there; does not wait.
    fn was_called(&self) -> bool;
}

impl Calls for TcpListener {
    fn was_called(&self) -> bool {
        self.set_nonblocking(true).expect("set");
        self.accept().is_ok()
    }
}

impl Calls for UnixListener {
    fn was_called(&self) -> bool {
        self.set_nonblocking(true).expect("set");
        self.accept().is_ok_and(|(mut caller, _)| {
            let mut text = String::new();
            caller.read_to_string(&mut text).is_ok()
        })
    }
}

impl Calls for UdpSocket {
    fn was_called(&self) -> bool {
        self.set_nonblocking(true).expect("set");
        self.recv_from(&mut [0; 64]).is_ok()
    }
}

/// Carries an attack out against a listener on this machine, which is as much outside as any other.
#[track_caller]
fn reaches<L: Calls>(guards: &str, network: &str, listener: L, script: &str) {
    attack(guards, |off| {
        let cell = Cell::new();
        cell.run(script, off, &["--no-audit", "--network", network]);
        listener.was_called()
    });
}

fn tcp() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

fn udp() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    (socket, port)
}

fn connect(port: u16) -> String {
    format!("perl -MIO::Socket::INET -e 'IO::Socket::INET->new(q(127.0.0.1:{port})) or die'")
}

fn send(port: u16, message: &str) -> String {
    format!(
        "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Proto => q(udp), PeerAddr => q(127.0.0.1:{port})) or die; $s->send({message})'"
    )
}

#[test]
fn tcp_does_not_get_out_of_the_loopback_of_its_own() {
    let (listener, port) = tcp();
    reaches("network", "loopback", listener, &connect(port));
}

#[test]
fn tcp_does_not_get_out_when_it_is_off() {
    let (listener, port) = tcp();
    reaches("network", "off", listener, &connect(port));
}

#[test]
fn udp_does_not_get_out_of_the_loopback_of_its_own() {
    let (socket, port) = udp();
    reaches("network", "loopback", socket, &send(port, "q(x)"));
}

#[test]
fn udp_does_not_get_out_when_it_is_off() {
    let (socket, port) = udp();
    reaches("network", "off", socket, &send(port, "q(x)"));
}

#[test]
fn a_name_that_holds_a_secret_is_not_asked_for() {
    let (socket, port) = udp();
    let query = r#"pack("n6", 1, 0x100, 1, 0, 0, 0) . pack("C/a* C/a* C nn", "secret", "example", 0, 1, 1)"#;
    reaches("network", "off", socket, &send(port, query));
}

#[test]
fn tcp_does_not_get_out_where_no_namespaces_can_be_made() {
    let (listener, port) = tcp();
    attack("network", |off| {
        let cell = Cell::new();
        cell.run(&connect(port), &format!("room,{off}"), &["--no-audit", "--network", "off"]);
        listener.was_called()
    });
}

#[test]
fn a_unix_socket_outside_is_not_reached() {
    attack("room,sockets", |off| {
        let cell = Cell::new();
        let path = cell.path("outside/docker.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let script =
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => shift) or die' $CELL/outside/docker.sock";
        cell.run(script, off, &["--no-audit", "--network", "on"]);
        listener.was_called()
    });
}

#[test]
fn a_unix_socket_outside_is_not_reached_where_no_namespaces_can_be_made() {
    attack("sockets", |off| {
        let cell = Cell::new();
        let path = cell.path("outside/agent.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let script =
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => shift) or die' $CELL/outside/agent.sock";
        cell.run(script, &format!("room,{off}"), &["--no-audit", "--network", "on"]);
        listener.was_called()
    });
}

#[test]
fn an_abstract_socket_outside_is_not_reached() {
    attack("sockets", |off| {
        let cell = Cell::new();
        let name = format!("red-team-{}-{}", std::process::id(), off.len());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let listener = UnixListener::bind_addr(&address).expect("a socket");
        let script = format!(
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack(q(Sa*), AF_UNIX, qq(\\0{name}))) or die'"
        );
        cell.run(&script, off, &["--no-audit", "--network", "on"]);
        listener.was_called()
    });
}

#[test]
fn no_odd_socket_is_made() {
    // The kernel's device events, by netlink: unprivileged, and no test's business.
    succeeds("network,sockets", "perl -e 'socket(S, 16, 3, 15) or die' && echo done > loot");
}
