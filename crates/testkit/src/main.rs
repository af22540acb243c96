//! `testkit serve`: the scripted model server and the sample sites in one process.
//!
//! Prints one line of JSON with the addresses, then serves until its standard input ends, so that it never
//! outlives the test that started it.

use panelot_testkit::model::Model;
use panelot_testkit::site::Site;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "testkit serve [--scenarios FOLDER] [--model-port PORT] [--site-port PORT]";

struct Options {
    scenarios: Option<PathBuf>,
    model_port: u16,
    site_port: u16,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match options(&arguments).and_then(|options| serve(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without a standard error there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "testkit: {error}\nusage: {USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn options(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { scenarios: None, model_port: 0, site_port: 0 };
    let Some(("serve", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) else {
        return Err("the one command is `serve`".to_owned());
    };
    let mut rest = rest.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let port = || value.parse::<u16>().map_err(|_| format!("{name}: {value:?} is no port"));
        match name.as_str() {
            "--scenarios" => options.scenarios = Some(PathBuf::from(value)),
            "--model-port" => options.model_port = port()?,
            "--site-port" => options.site_port = port()?,
            other => return Err(format!("unknown option {other:?}")),
        }
    }
    Ok(options)
}

fn serve(options: &Options) -> Result<(), String> {
    let scenarios = options.scenarios.as_deref().map_or_else(|| Ok(Vec::new()), Model::load)?;
    let model = Arc::new(Model::new(scenarios)?);
    let model = Model::serve(&model, options.model_port).map_err(|error| format!("model server: {error}"))?;
    let site = Arc::new(Site::default());
    let site = Site::serve(&site, options.site_port).map_err(|error| format!("sample sites: {error}"))?;
    let line = serde_json::json!({
        "model": model.origin(),
        "baseUrl": format!("{}/v1", model.origin()),
        "site": site.origin(),
    });
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    // Whatever is sent is ignored; the end is the signal.
    std::io::stdin().read_to_end(&mut Vec::new()).map_err(|error| error.to_string())?;
    Ok(())
}
