//! The little of HTTP/1.1 that the test servers need: one request per connection, one thread per request.
//!
//! Written over sockets rather than a framework because the tests must be able to misbehave on the wire: a
//! response cut inside a character is the point, and frameworks prevent it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest head of a request, in bytes.
const MAX_HEAD: u64 = 64 * 1024;
/// The longest body of a request, in bytes: far above any prompt.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// How long a client may take to send its request.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);
/// How often a waiting response looks whether its client has left.
const POLL: Duration = Duration::from_millis(20);

/// A request, read to its end.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// What follows `?`, undecoded.
    pub query: String,
    /// Header names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The fields of an `application/x-www-form-urlencoded` body, in order.
    #[must_use]
    pub fn form(&self) -> Vec<(String, String)> {
        let text = String::from_utf8_lossy(&self.body);
        text.split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode_form(key), decode_form(value))
            })
            .collect()
    }
}

fn decode_form(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => match after.first_chunk::<2>().and_then(|digits| hex(*digits)) {
                Some(byte) => {
                    bytes.push(byte);
                    rest = after.get(2..).unwrap_or_default();
                }
                None => bytes.push(b'%'),
            },
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digits: [u8; 2]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
}

/// What a server does with a request.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request. An error means that the client left, which is nobody's fault.
    ///
    /// # Errors
    /// Whatever the socket reports.
    fn handle(&self, request: &Request, reply: Reply) -> io::Result<()>;

    /// Called when the server stops, so that waiting responses end.
    fn stop(&self) {}
}

/// A response that has not started.
#[derive(Debug)]
pub struct Reply {
    stream: TcpStream,
}

impl Reply {
    /// Sends a whole response.
    ///
    /// # Errors
    /// When the client left.
    pub fn send(mut self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> io::Result<()> {
        let mut head = head(status, headers);
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(body)?;
        self.stream.flush()
    }

    /// Sends a JSON value.
    ///
    /// # Errors
    /// When the client left.
    pub fn json(self, status: u16, value: &serde_json::Value) -> io::Result<()> {
        self.send(status, &[("Content-Type", "application/json")], value.to_string().as_bytes())
    }

    /// Sends a page.
    ///
    /// # Errors
    /// When the client left.
    pub fn html(self, status: u16, page: &str) -> io::Result<()> {
        self.send(status, &[("Content-Type", "text/html; charset=utf-8")], page.as_bytes())
    }

    /// Sends the head of a response whose body follows in pieces.
    ///
    /// # Errors
    /// When the client left.
    pub fn stream(mut self, status: u16, headers: &[(&str, &str)]) -> io::Result<Body> {
        let mut head = head(status, headers);
        head.push_str("Transfer-Encoding: chunked\r\n\r\n");
        self.stream.write_all(head.as_bytes())?;
        self.stream.flush()?;
        Ok(Body { stream: self.stream })
    }

    /// Waits, and says whether the client is still there. Ends early when `over` says so.
    pub fn wait(&self, duration: Option<Duration>, over: impl FnMut() -> bool) -> bool {
        wait(&self.stream, duration, over)
    }
}

/// The body of a response under way.
#[derive(Debug)]
pub struct Body {
    stream: TcpStream,
}

impl Body {
    /// Sends one piece, at once.
    ///
    /// # Errors
    /// When the client left.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(()); // an empty chunk would end the body
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.stream.write_all(&chunk)?;
        self.stream.flush()
    }

    /// Ends the body as it should end.
    ///
    /// # Errors
    /// When the client left.
    pub fn finish(mut self) -> io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n")?;
        self.stream.flush()
    }

    /// Ends the connection in the middle of the body.
    pub fn cut(self) {
        // The connection may be gone already: that is what was wanted.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// As [`Reply::wait`].
    pub fn wait(&self, duration: Option<Duration>, over: impl FnMut() -> bool) -> bool {
        wait(&self.stream, duration, over)
    }
}

fn wait(stream: &TcpStream, duration: Option<Duration>, mut over: impl FnMut() -> bool) -> bool {
    let end = duration.map(|duration| Instant::now() + duration);
    loop {
        let left = end.map_or(POLL, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() || over() {
            return true;
        }
        if left >= POLL && client_left(stream) {
            return false;
        }
        std::thread::sleep(left.min(POLL));
    }
}

/// True if the client has closed its end. Clients send nothing after their request, so any end counts.
fn client_left(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let seen = stream.peek(&mut [0]);
    let restored = stream.set_nonblocking(false);
    let alive = match seen {
        Ok(count) => count > 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    };
    !alive || restored.is_err()
}

fn head(status: u16, headers: &[(&str, &str)]) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\nConnection: close\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

/// A server on a loopback port. It stops when this value is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen on `port` of 127.0.0.1; 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn start(handler: Arc<dyn Handler>, port: u16) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = socket.local_addr()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stopping);
        let listener = std::thread::spawn(move || {
            for stream in socket.incoming() {
                if seen.load(Ordering::Acquire) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let handler = Arc::clone(&handler);
                // A client that leaves early makes an error that nobody needs to hear of.
                std::thread::spawn(move || drop(serve(stream, handler.as_ref())));
            }
            handler.stop();
        });
        Ok(Self { address, stopping, listener: Some(listener) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its origin: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        // A connection wakes the listener, which then sees that it should stop.
        if TcpStream::connect(self.address).is_ok()
            && let Some(listener) = self.listener.take()
        {
            // A listener that panicked has stopped as well.
            let _ = listener.join();
        }
    }
}

fn serve(stream: TcpStream, handler: &dyn Handler) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(REQUEST_DEADLINE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let Some(request) = read_request(&mut reader, &stream)? else {
        return Ok(());
    };
    handler.handle(&request, Reply { stream })
}

/// Reads a request; `None` when the client connected and said nothing.
fn read_request(reader: &mut BufReader<TcpStream>, mut stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut lines = Vec::new();
    let mut limited = reader.take(MAX_HEAD);
    loop {
        let mut line = String::new();
        if limited.read_line(&mut line)? == 0 {
            return if lines.is_empty() { Ok(None) } else { Err(malformed("the head ends early")) };
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        lines.push(line.to_owned());
    }
    let mut lines = lines.into_iter();
    let first = lines.next().ok_or_else(|| malformed("no request line"))?;
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(malformed("the request line has no target"));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        })
        .collect();
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: Vec::new(),
    };
    if request.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let length = request.header("content-length").map_or(Ok(0), str::parse::<usize>);
    let length = length.map_err(|_| malformed("the content length is no number"))?;
    if length > MAX_BODY {
        return Err(malformed("the body is too long"));
    }
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_fields_are_decoded_and_a_stray_percent_stays() {
        let request = Request {
            method: "POST".into(),
            path: "/".into(),
            query: String::new(),
            headers: Vec::new(),
            body: b"name=Ada+Love%6Cace&note=100%25+or+%zz&empty=".to_vec(),
        };
        let expected = [("name", "Ada Lovelace"), ("note", "100% or %zz"), ("empty", "")];
        let expected: Vec<_> = expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        assert_eq!(request.form(), expected);
    }
}
